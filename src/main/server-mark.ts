/**
 * The mark of a server in the data directory: its port, and the launcher that started it if one
 * did. If the launcher is killed, the server keeps running and holds the port without a terminal.
 * `doctor` finds it by this mark.
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
  /** Null if the server was started without a launcher. */
  launcherPid: number | null
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
  const launcherStart = launcherPid === null ? '' : (processStart(launcherPid) ?? '')
  const marked: MarkedServer = { port, launcherPid, launcherStart }
  const mark = leaveMark(directoryOf(dataDir), JSON.stringify(marked))
  otherMarks(mark)
  return () => removeMark(mark)
}

export interface RunningServer {
  pid: number
  /** The launcher if it has ended, so that no terminal shows the server. */
  endedLauncherPid: number | null
}

/** Returns the server on this port, or null. */
export function findRunningServer(dataDir: string, port: number): RunningServer | null {
  for (const { pid, text } of readMarks(directoryOf(dataDir))) {
    if (text === '') continue
    const marked = JSON.parse(text) as MarkedServer
    if (marked.port !== port) continue
    const { launcherPid, launcherStart } = marked
    const hasEnded = launcherPid !== null && processStart(launcherPid) !== launcherStart
    return { pid, endedLauncherPid: hasEnded ? launcherPid : null }
  }
  return null
}
