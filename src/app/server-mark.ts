/**
 * The mark of a server in the data directory: its port and the launcher that started it. If the
 * launcher is killed, the server keeps running and holds the port without a terminal. `doctor`
 * finds it by this mark.
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

/**
 * Writes the mark of this process and removes the marks of dead servers. Returns a function that
 * removes the mark.
 */
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
