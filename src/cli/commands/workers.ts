/**
 * `assay workers`: the workers, with everything that is stored about them. `assay consent` and
 * `assay identity`: consents of workers, and checks of their identity.
 */
import { writeFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { workerOperations, workersExport } from '../../privacy/worker-operations.ts'
import {
  consentImport,
  identityImport,
  workersImport,
} from '../../scoring/scores/sharing-ingests.ts'
import { consentOperations, identityOperations } from '../../scoring/scores/sharing-operations.ts'
import { usernameArgument } from '../args.ts'
import { act, command } from '../command.ts'
import { withContext } from '../context.ts'
import { declareIngest } from '../import-lines.ts'
import { declareOperations, performHere } from '../operation-command.ts'
import { done, type Outcome, usageError } from '../output.ts'

export function declareCommand(workers: Command): void {
  declareIngest(workers, workersImport, {
    summary: 'Register workers, or update their profiles, from a file',
    lines: 'workers',
    note: 'A line names its worker by `externalId`, or else by `username`.',
  })

  command(
    workers,
    'export',
    'Write everything that is stored about a worker to a file',
    'assay workers export ada-lovelace --out ada-lovelace.json',
  )
    .argument(...usernameArgument)
    .option('--out <file>', 'a new file that only you can read', '-')
    .action(act(exportFile))

  declareOperations(workers, workerOperations)
}

function exportFile(username: string, { out }: { out: string }): Promise<Outcome> {
  return withContext(async (context) => {
    const exported = await performHere(context, workersExport, { input: { username }, flags: {} })
    const text = `${JSON.stringify(exported, null, 2)}\n`
    if (out === '-') return { exitCode: 0, report: exported, lines: [text.trimEnd()] }
    await writeFile(out, text, { flag: 'wx', mode: 0o600 }).catch((error: unknown) => {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason'
      const reason = code === 'EEXIST' ? 'exists already' : `cannot be written (${code})`
      throw usageError(`${out} ${reason}. Name another file.`, { cause: error })
    })
    return done({ username, out }, [`Everything that is stored about ${username} is in ${out}.`])
  })
}

export function declareConsent(consent: Command): void {
  declareOperations(consent, consentOperations)
  declareIngest(consent, consentImport, {
    summary: 'Record what workers allow, from a file',
    lines: 'consents',
    note: 'The last line about a permission of a worker counts.',
  })
}

export function declareIdentity(identity: Command): void {
  declareOperations(identity, identityOperations)
  declareIngest(identity, identityImport, {
    summary: 'Record identity checks of workers, from a file',
    lines: 'identities',
    note: 'The last line about a worker counts.',
  })
}
