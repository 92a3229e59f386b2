/**
 * Limits groups of processes to a share of a processor, each by a control group. Needs Linux and
 * the right to create control groups.
 */
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Short, so that a group is held back often and briefly, as on a slower processor. */
const periodUsMin = 10_000
/** Of Linux. */
const quotaUsMin = 1_000

/** The controller's own folder in version 1, the root in version 2. */
const roots = ['/sys/fs/cgroup/cpu', '/sys/fs/cgroup']

export interface Held {
  /** Call it once the processes have ended. */
  release(): void
}

/**
 * Gives each group, and the processes that it will start, `share` of one processor. Returns null if
 * this user cannot limit them.
 */
export function holdTo(share: number, pidsOfGroups: readonly (readonly number[])[]): Held | null {
  const groups: string[] = []
  const release = (): void => {
    for (const group of groups) rmdirSync(group)
  }
  for (const [first] of pidsOfGroups) {
    const group = makeGroup(`assay-bench-${first}`, share)
    if (group === null) {
      release()
      return null
    }
    groups.push(group)
  }
  for (const [i, pids] of pidsOfGroups.entries())
    for (const pid of pids) writeFileSync(join(groups[i] as string, 'cgroup.procs'), String(pid))
  return { release }
}

function makeGroup(name: string, share: number): string | null {
  const periodUs = Math.max(periodUsMin, Math.ceil(quotaUsMin / share))
  const quotaUs = String(Math.round(share * periodUs))
  for (const root of roots) {
    const group = join(root, name)
    try {
      mkdirSync(group)
    } catch {
      continue
    }
    if (existsSync(join(group, 'cpu.max'))) {
      writeFileSync(join(group, 'cpu.max'), `${quotaUs} ${periodUs}`)
      return group
    }
    if (existsSync(join(group, 'cpu.cfs_quota_us'))) {
      writeFileSync(join(group, 'cpu.cfs_period_us'), String(periodUs))
      writeFileSync(join(group, 'cpu.cfs_quota_us'), quotaUs)
      return group
    }
    rmdirSync(group)
  }
  return null
}
