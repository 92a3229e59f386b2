/**
 * The mark of a server in the data directory: the port that it listens on, and the launcher that started it. If the launcher is killed, the
 * server goes on and holds the port, and no terminal shows it any more. `doctor` finds it by this mark.
 */
import { join } from 'node:path'
import {
  leaveMark,
  otherMarks,
  processStart,
  readMarks,
  removeMark,
} from '../platform/process-mark.ts'

interface MarkedServer {
  port: number
  launcherPid: number
  /** Tells the launcher from a later process with the same id. */
  launcherStart: string
}

function directoryOf(dataDir: string): string {
  return join(dataDir, 'servers')
}

/** Leaves the mark of this process and removes those of servers that have died. Returns a function that removes it again. */
export function leaveServerMark(
  dataDir: string,
  { port, launcherPid }: Pick<MarkedServer, 'port' | 'launcherPid'>,
): () => void {
  const launcherStart = processStart(launcherPid) ?? ''
  const marked: MarkedServer = { port, launcherPid, launcherStart }
  const mark = leaveMark(directoryOf(dataDir), JSON.stringify(marked))
  otherMarks(mark)
  return () => removeMark(mark)
}

/** Returns the server on this port whose launcher has ended, or null. */
export function findOrphanedServer(
  dataDir: string,
  port: number,
): { pid: number; launcherPid: number } | null {
  for (const { pid, text } of readMarks(directoryOf(dataDir))) {
    if (text === '') continue
    const marked = JSON.parse(text) as MarkedServer
    const { launcherPid, launcherStart } = marked
    if (marked.port === port && processStart(launcherPid) !== launcherStart)
      return { pid, launcherPid }
  }
  return null
}
