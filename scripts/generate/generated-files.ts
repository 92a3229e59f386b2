/** The generated files of the repository: their paths and contents. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { actions } from '../../src/audit/actions.ts'
import { readConfig, settingAreas } from '../../src/config/config.ts'
import type { SettingTable } from '../../src/config/setting.ts'
import { startEmbeddedPostgres } from '../../src/database/embedded/embedded-postgres.ts'
import { migrate } from '../../src/database/migrate.ts'
import { dumpSchema } from '../../src/database/schema-dump.ts'
import { openApiDocument } from '../../src/discovery/openapi.ts'
import { exampleUrl, operationsOf } from '../../src/edge/http/contract.ts'
import { interfaceVersion } from '../../src/edge/http/identifiers.ts'
import { contract } from '../../src/main/contract.ts'
import { operatorDocument } from '../../src/main/operator-api.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { openDb } from '../../src/platform/db/db.ts'
import {
  type ErrorName,
  errorStatus,
  errorTable,
  publicErrorNames,
} from '../../src/platform/errors.ts'
import { bundleName, coreBundle } from '../../src/scoring/scores/bundle.ts'
import { retrySpan, retryWaitsSeconds } from '../../src/webhooks/delivery/retry.ts'
import { dataSchema, webhookDeclarations } from '../../src/webhooks/events/contract.ts'
import { eventTypeNames } from '../../src/webhooks/events/event-types.ts'
import { exampleEnvelope } from '../../src/webhooks/events/schema.ts'
import { browserScripts } from './browser-code.ts'
import { sdkTypes } from './sdk-types.ts'

export interface GeneratedFile {
  /** Relative to the root of the project. */
  path: string
  text: (root: string) => Promise<string> | string
}

const contractPath = `openapi/${interfaceVersion}.json`

export const generatedFiles: readonly GeneratedFile[] = [
  { path: contractPath, text: contractText },
  { path: 'openapi/operator-v1.json', text: operatorContractText },
  { path: 'packages/sdk/src/wire.ts', text: () => sdkTypes(JSON.parse(contractText())) },
  { path: 'packages/sdk/src/cli/example-events.ts', text: exampleEvents },
  ...eventTypeNames.map((type) => ({
    path: `events/${type}.v1.json`,
    text: () => `${JSON.stringify(dataSchema(type), null, 2)}\n`,
  })),
  ...browserScripts,
  { path: 'docs/errors.md', text: errorsPage },
  { path: 'docs/configure.md', text: configurePage },
  { path: 'docs/audit.md', text: auditPage },
  { path: 'docs/receive-webhooks.md', text: waitsPage },
  { path: 'schema.sql', text: schemaSql },
  {
    get path() {
      return `engines/${bundleName(engineText())}`
    },
    text: engineText,
  },
]

/** A change of the core becomes a new file beside the engines that issued scores before. */
function engineText(): string {
  return coreBundle(join(import.meta.dirname, '../../src/scoring/core'))
}

function contractText(): string {
  const document = openApiDocument(operationsOf(contract, readConfig({})), {
    publicUrl: exampleUrl,
    webhooks: webhookDeclarations,
  })
  return `${JSON.stringify(document, null, 2)}\n`
}

function exampleEvents(): string {
  const examples = Object.fromEntries(eventTypeNames.map((type) => [type, exampleEnvelope(type)]))
  return `/** Generated from the event types by \`npm run generate\`: do not edit. */

export const exampleEvents: Record<string, Record<string, unknown>> = ${JSON.stringify(examples, null, 2)}
`
}

function operatorContractText(): string {
  return `${JSON.stringify(operatorDocument(exampleUrl), null, 2)}\n`
}

function errorsPage(): string {
  const rows = publicErrorNames
    .map((name) => [name, errorTable[name]] as const)
    .sort(([a, rowA], [b, rowB]) => rowA.status - rowB.status || (a < b ? -1 : 1))
    .map(([name, row]) => `| \`${name}\` | ${statusText(name)} | ${row.message} | ${row.advice} |`)
  return `<!-- Made from src/platform/errors.ts by \`npm run generate\`. Do not edit. -->

# Errors

Every error is a JSON object. \`error\` is one of the names below and does not change; \`message\` is for people and can say more than the table.

- \`supported_version\` comes with \`unsupported_version\` alone.
- \`skill_not_found\` has the members \`error\` and \`id\` instead.
- The header \`Link\` leads to a page about the error.
- Quote \`X-Request-Id\` if you ask the operator about a response.

## Mistakes that are made often

| Request | Error | Correction |
|---|---|---|
| \`X-Api-Key: KEY\` | \`missing_api_key\`; on paid reads 402 | Send \`Authorization: Bearer KEY\`. |
| \`Authorization: KEY\` | \`invalid_api_key\` | Put the word \`Bearer\` before the key. |
| \`?api_key=KEY\` | \`api_key_in_url\` | Send the header, and replace the key: URLs are logged. |
| a body without \`Content-Type\`, or curl with \`-d\` alone | \`unsupported_media_type\` | Send \`Content-Type: application/json\`. |
| a report or an endpoint without \`Idempotency-Key\` | \`invalid_idempotency_key\` | Send a fresh key of 16 to 128 characters with each new request. |
| a field that is not in the contract | \`invalid_field\` | Send the fields of the contract alone. |
| a repeat right after 429 or 503 | \`rate_limited\`, \`overloaded\` | Wait as many seconds as \`Retry-After\` says. |

## All errors

| Error | Status | Message | Next step |
|---|---|---|---|
${rows.join('\n')}
`
}

function statusText(name: string): string {
  const [status, keyedStatus] = [false, true].map((isKeyed) =>
    errorStatus(name as ErrorName, isKeyed),
  )
  return status === keyedStatus
    ? `${status}`
    : `${status}, or ${keyedStatus} on routes that need an API key`
}

/**
 * Returns `docs/configure.md` with the table of each area generated again and its prose unchanged.
 */
function configurePage(root: string): string {
  const page = readFileSync(join(root, 'docs/configure.md'), 'utf8')
  return Object.entries(settingAreas).reduce(
    (text, [area, table]) => withPart(text, { name: area, text: settingsTable(table) }),
    page,
  )
}

function auditPage(root: string): string {
  const page = readFileSync(join(root, 'docs/audit.md'), 'utf8')
  return withPart(page, { name: 'Actions', text: actionsTable() })
}

/** The waits before a delivery is repeated. */
function waitsPage(root: string): string {
  const page = readFileSync(join(root, 'docs/receive-webhooks.md'), 'utf8')
  const waits = retryWaitsSeconds.map((seconds) => retrySpan([seconds]))
  const text = `The waits are ${waits.slice(0, -1).join(', ')} and ${waits.at(-1)}, unless the operator set others: ${retrySpan(retryWaitsSeconds)} in all.`
  return withPart(page, { name: 'Waits', text })
}

/** Replaces the text between two marks. */
function withPart(page: string, part: { name: string; text: string }): string {
  const startMark = `<!-- ${part.name}: made by \`npm run generate\` -->`
  const endMark = `<!-- end of ${part.name} -->`
  const start = page.indexOf(startMark)
  const end = page.indexOf(endMark)
  if (start === -1 || end < start) throw new Error(`The page lacks ${startMark} … ${endMark}`)
  return `${page.slice(0, start)}${startMark}\n\n${part.text}\n\n${page.slice(end)}`
}

function actionsTable(): string {
  const rows = Object.entries(actions).map(([name, { meaning, details }]) => {
    const facts = Object.keys(details.properties).map((fact) => `\`${fact}\``)
    return `| \`${name}\` | ${meaning} | ${facts.join(', ')} |`
  })
  return `| Action | Meaning | Details |\n|---|---|---|\n${rows.join('\n')}`
}

function settingsTable(table: SettingTable): string {
  const rows = Object.entries(table).map(
    ([name, { default: value, unit, effect, confidential }]) =>
      `| \`${name}\`${confidential ? ` or \`${name}_FILE\`` : ''} | ${value === '' ? 'none' : value} | ${unit} | ${effect} |`,
  )
  return `| Setting | Default | Unit | Effect |\n|---|---|---|---|\n${rows.join('\n')}`
}

/** Uses a database that is created for this and removed again. */
async function schemaSql(root: string): Promise<string> {
  const dataDir = mkdtempSync(join(tmpdir(), 'assay-generate-'))
  try {
    const server = await startEmbeddedPostgres({ dataDir, durable: false, log: () => {} })
    try {
      return await migratedSchema(server.url, join(root, 'migrations'))
    } finally {
      await server.stop()
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
}

async function migratedSchema(url: string, directory: string): Promise<string> {
  await migrate(url, directory, systemClock())
  const db = openDb({
    url,
    connectionsMax: 2,
    applicationName: 'assay generate',
    onError: () => {},
  })
  try {
    return await dumpSchema(db)
  } finally {
    await db.close()
  }
}
