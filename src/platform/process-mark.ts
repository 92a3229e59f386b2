/**
 * Files by which the processes of one machine know of each other. A mark is a file named after its process, so a dead process's
 * mark is told apart (by id and start time) and may be removed by anyone without ever removing a living one's.
 */
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

export interface Mark {
  directory: string
  name: string
}

/** Leaves this process's mark in `directory`, which is made when missing. One process may leave several. `text`: what the mark says. */
export function leaveMark(directory: string, text = ''): Mark {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const name = `${process.pid}-${processStart(process.pid)}-${randomUUID()}`
  writeFileSync(join(directory, name), text, { flag: 'wx', mode: 0o600 })
  return { directory, name }
}

export function removeMark(mark: Mark): void {
  rmSync(join(mark.directory, mark.name), { force: true })
}

/** The marks of living processes other than `own`, in the order of their names; those of dead ones are removed. */
export function otherMarks(own: Mark): string[] {
  return readdirSync(own.directory)
    .filter((name) => name !== own.name)
    .filter((name) => {
      if (isAlive(name)) return true
      rmSync(join(own.directory, name), { force: true })
      return false
    })
    .sort()
}

/** Returns the process ids and texts of the marks in `directory` whose processes are alive. Removes nothing. */
export function readMarks(directory: string): { pid: number; text: string }[] {
  if (!existsSync(directory)) return []
  return readdirSync(directory)
    .filter(isAlive)
    .map((name) => ({ pid: Number.parseInt(name, 10), text: readIfThere(join(directory, name)) }))
}

/** Its process may remove a mark at any time. */
function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return ''
    throw error
  }
}

function isAlive(name: string): boolean {
  const [pid = '', start] = name.split('-')
  const now = processStart(Number(pid))
  return now !== null && (now === start || now === unknownStart)
}

/**
 * Runs `work` while no other process does so for the same directory. Everybody leaves a mark before looking round, so of two that
 * arrive together at least one sees the other; the one with the smaller name stays, the other steps back and tries again.
 */
export async function alone<Result>(
  directory: string,
  deadlineMs: number,
  work: () => Promise<Result>,
): Promise<Result> {
  const giveUpAt = performance.now() + deadlineMs
  let mark = leaveMark(directory)
  try {
    for (;;) {
      const [first] = otherMarks(mark)
      if (first === undefined) return await work()
      if (performance.now() > giveUpAt)
        throw new Error(`Process ${first.split('-')[0]} holds ${directory}.`)
      const stepBack = first < mark.name
      if (stepBack) removeMark(mark)
      await wait(5 + Math.random() * 20)
      if (stepBack) mark = leaveMark(directory)
    }
  } finally {
    removeMark(mark)
  }
}

/** Stands for the start time where the system does not tell it: then the process id alone decides. */
const unknownStart = '0'

/** When a process started, in the kernel's ticks, or null once it is gone: tells it from a later one with the same id. */
export function processStart(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const isZombie = fields[0] === 'Z'
    return isZombie ? null : (fields[19] ?? unknownStart)
  } catch {
    return answersSignals(pid) ? unknownStart : null
  }
}

/** Whether the system still holds the id: also that of a process that ended and that its parent has not buried yet. */
export function answersSignals(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
