/**
 * Measuring on a shared machine: processor time instead of wall time, contestants in turn so that
 * noise hits all alike, medians.
 */

export interface Contestant {
  name: string
  /** Runs one operation, which may be asynchronous. */
  run: () => unknown
  /** Operations in a round. */
  operations: number
}

export interface Costs {
  names: readonly string[]
  /** Median, in microseconds of processor time for one operation. */
  of(name: string): number
  /**
   * Returns how many of `fast` take the time of one `slow`: the median of the ratios of each round.
   */
  ratio(fast: string, slow: string): number
}

/** Each round runs every contestant once. The first two rounds only warm up. */
export async function costsOf(contestants: readonly Contestant[], rounds = 11): Promise<Costs> {
  const samples = new Map(contestants.map(({ name }) => [name, [] as number[]]))
  for (let round = -1; round <= rounds; round++)
    for (const contestant of contestants) {
      const cost = await costOf(contestant)
      if (round > 0) samples.get(contestant.name)?.push(cost)
    }
  const all = (name: string): readonly number[] => {
    const costs = samples.get(name)
    if (costs === undefined) throw new Error(`nobody is called ${name}`)
    return costs
  }
  return {
    names: [...samples.keys()],
    of: (name) => median(all(name)),
    ratio(fast, slow) {
      const slowCosts = all(slow)
      return median(all(fast).map((cost, round) => (slowCosts[round] ?? Number.NaN) / cost))
    },
  }
}

async function costOf({ run, operations }: Contestant): Promise<number> {
  const before = process.cpuUsage()
  for (let i = 0; i < operations; i++) {
    const result = run()
    if (result instanceof Promise) await result
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / operations
}

export function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b)
  return sorted[sorted.length >> 1] ?? Number.NaN
}

/** A measured figure with its target. */
export interface Finding {
  name: string
  value: number
  unit: string
  target?: { min: number } | { max: number }
}

export function isMet({ value, target }: Finding): boolean | undefined {
  if (target === undefined) return undefined
  return 'min' in target ? value >= target.min : value <= target.max
}

/** Prints a table, or with `--json` one line for programs. */
export function report(bench: string, findings: readonly Finding[]): void {
  if (process.argv.includes('--json')) {
    const results = findings.map((finding) => ({ ...finding, met: isMet(finding) }))
    process.stdout.write(`${JSON.stringify({ bench, findings: results })}\n`)
    return
  }
  process.stdout.write(`\n${bench}\n`)
  for (const finding of findings) {
    const { name, value, unit } = finding
    const figure = `${figureOf(value)} ${unit}`.padEnd(22)
    process.stdout.write(`  ${name.padEnd(44)}${figure}${verdictOf(finding)}\n`)
  }
}

function figureOf(value: number): string {
  const digits = value >= 100 ? 0 : 2
  const [whole = '', fraction] = value.toFixed(digits).split('.')
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',')
  return (fraction === undefined ? grouped : `${grouped}.${fraction}`).padStart(10)
}

function verdictOf(finding: Finding): string {
  const { target } = finding
  if (target === undefined) return ''
  const wanted = 'min' in target ? `at least ${target.min}` : `at most ${target.max}`
  return `${wanted}: ${isMet(finding) === true ? 'met' : 'MISSED'}`
}
