/** Returns the count and its noun: `1 item`, `2 items`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
