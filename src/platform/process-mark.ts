/**
 * Files by which the processes of one machine know each other. A mark is a file that is named after
 * its process id and start time. So any process can recognise and remove the mark of a dead
 * process, and never removes a living one's.
 */
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

export interface Mark {
  directory: string
  name: string
}

/**
 * Writes this process's mark into `directory`, which is created if missing. A process may leave
 * several marks. `text` is the content of the mark.
 */
export function leaveMark(directory: string, text = ''): Mark {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const name = `${process.pid}-${processStart(process.pid)}-${randomUUID()}`
  writeFileSync(join(directory, name), text, { flag: 'wx', mode: 0o600 })
  return { directory, name }
}

export function removeMark(mark: Mark): void {
  rmSync(join(mark.directory, mark.name), { force: true })
}

/**
 * Returns the marks of living processes other than `own`, sorted by name. Removes marks of dead
 * processes.
 */
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

/**
 * Returns the process ids and texts of the marks of living processes in `directory`. Removes
 * nothing.
 */
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
 * Runs `work` while no other process does so for the same directory. Each process leaves a mark
 * before it looks for others, so of two that arrive together at least one sees the other. The one
 * with the smaller name continues; the other steps back and tries again.
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

/** Used if the system does not give a start time: then the process id alone decides. */
const unknownStart = '0'

/**
 * Returns the start time of a process in kernel ticks, or null once it is gone. A later process
 * with the same id has another start time.
 */
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

/**
 * Returns whether the system still holds the id, also for a process that ended and was not yet
 * reaped by its parent.
 */
export function answersSignals(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
