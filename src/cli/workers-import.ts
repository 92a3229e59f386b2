/** `assay workers import`: people from an operator's own register. */
import { operator, recordAction } from '../audit/record.ts'
import type { Config } from '../config/config.ts'
import type { Tx } from '../platform/db/db.ts'
import { registerWorkers } from '../scores/keep-sharing.ts'
import type { Registered } from '../workers/register.ts'
import { type Registration, readRegistration } from '../workers/registration.ts'
import { registration } from '../workers/schema.ts'
import { type Import, type ImportFlags, importLines } from './import-lines.ts'
import type { Outcome } from './output.ts'
import { actorGiven } from './person.ts'

export interface WorkersImportFlags extends ImportFlags {
  by: string
}

export function importWorkersCommand(config: Config, flags: WorkersImportFlags): Promise<Outcome> {
  return importLines(flags, workersImport(actorGiven(flags.by)))
}

/** A hundred skills and a long biography fit. */
const lineBytesMax = 65_536

function workersImport(by: string): Import<Registration, 'created' | 'updated' | 'unchanged'> {
  return {
    shape: registration,
    lineBytesMax,
    results: ['created', 'updated', 'unchanged'],
    read: readRegistration,
    // Whom a username means is known when the lines before it are applied.
    concerns: ({ externalId, profile }) =>
      externalId === null ? null : [`id ${externalId}`, `name ${profile.username}`],
    apply: (context, registrations) =>
      context.db.transaction(async (tx) => {
        const now = context.clock()
        const registered = await registerWorkers(tx, registrations, { by, at: now })
        await recordImport(tx, registered, now)
        return registered.map((answer) =>
          'refused' in answer ? answer : { result: answer.outcome },
        )
      }),
  }
}

async function recordImport(tx: Tx, registered: readonly Registered[], now: Date): Promise<void> {
  const idsOf = (outcome: 'created' | 'updated') =>
    registered.flatMap((one) => ('outcome' in one && one.outcome === outcome ? one.workerId : []))
  const created = idsOf('created')
  const updated = idsOf('updated')
  const subjects = [...created, ...updated]
  if (subjects.length === 0) return
  const details = { created: created.length, updated: updated.length }
  const action = 'workers.imported'
  await recordAction(tx, { actor: operator(), action, subjects, details }, now)
}
