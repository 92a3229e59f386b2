/** Random numbers by mulberry32. They depend on the seed alone, not on a library. */
export interface Draws {
  /** Returns a whole number from 0 up to below `end`. */
  (end: number): number
  of<Value>(values: readonly Value[]): Value
  shuffled<Value>(values: readonly Value[]): Value[]
  /** Returns a number of the standard normal distribution. */
  normal(): number
}

export function draws(seed: number): Draws {
  let state = seed | 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
  const draw = (end: number): number => next() % end
  const uniform = (): number => (next() + 1) / 2 ** 32
  return Object.assign(draw, {
    of: <Value>(values: readonly Value[]): Value => values[draw(values.length)] as Value,
    shuffled<Value>(values: readonly Value[]): Value[] {
      const list = [...values]
      for (let at = list.length - 1; at > 0; at--) {
        const other = draw(at + 1)
        ;[list[at], list[other]] = [list[other] as Value, list[at] as Value]
      }
      return list
    },
    normal: () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform()),
  })
}
