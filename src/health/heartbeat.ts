/**
 * The heartbeat of a process. Its write is also the proof of readiness: a process is ready only if
 * the database takes a write, and not if it is a standby or its disk is full (decision D62).
 */
import { hostname } from 'node:os'
import { atMostEvery } from '../platform/at-most-every.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db/db.ts'
import { uuidV7 } from '../platform/db/uuid-v7.ts'
import type { Job } from '../platform/job-runner.ts'
import {
  deleteOldHeartbeats,
  endHeartbeat,
  proveDiskRoom,
  upsertHeartbeat,
} from './heartbeat-store.ts'
import { type Abilities, beatMs, type ProcessIdentity } from './processes.ts'

export interface HeartbeatOptions {
  /** A connection of its own, so that no request makes the heartbeat wait. */
  db: Db
  clock: Clock
  release: string
  abilities(): Promise<Abilities>
}

export interface ProcessHeartbeat {
  /**
   * Writes the heartbeat, at most once a second: further calls share the last write. Throws if the
   * database took no write.
   */
  beat(): Promise<void>
  job: Job
  /** Records that this process ends as it was told to. */
  end(): Promise<void>
}

const writtenEveryMs = 1_000

export function openHeartbeat(options: HeartbeatOptions): ProcessHeartbeat {
  const { db, clock, release, abilities } = options
  const startedAt = clock()
  const { pid } = process
  const identity: ProcessIdentity = {
    processId: uuidV7(startedAt),
    node: hostname(),
    pid,
    release,
    startedAt,
  }
  async function write(): Promise<void> {
    const able = await abilities()
    await db.transaction(async (tx) => {
      await proveDiskRoom(tx)
      await upsertHeartbeat(tx, { ...identity, ...able }, clock())
    })
  }

  const beat = atMostEvery(writtenEveryMs, write)
  return {
    beat,
    job: { name: 'heartbeat', everyMs: beatMs, run: beat },
    end: () => endHeartbeat(db, identity.processId, clock()),
  }
}

const keptMs = 86_400_000

export function heartbeatSweep(db: Db, clock: Clock): Job {
  return {
    name: 'delete old heartbeats',
    everyMs: 3_600_000,
    run: () => deleteOldHeartbeats(db, new Date(clock().getTime() - keptMs)),
  }
}
