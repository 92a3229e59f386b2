/** Reads a Containerfile. */

export interface Instruction {
  name: string
  args: string
}

/** Returns the instructions in their order, without comments and continued lines. */
export function readContainerfile(text: string): Instruction[] {
  const lines = text
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
  return lines
    .filter((line) => line !== '')
    .map((line) => {
      const [, name = '', args = ''] = /^(\S+)\s+(.*)$/.exec(line) ?? []
      return { name, args }
    })
}
