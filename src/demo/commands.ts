/** Renders the commands that the terminal shows when the demo is ready. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { verifyPath } from '../credentials/schema.ts'
import { command, credentialFile, demoFolder, keyFile } from './files.ts'

interface Deployment {
  publicUrl: string
  dataDir: string
}

/**
 * Returns the lines to print: the web address first, then a first success without a key, with the
 * demo's key and in the sandbox. Each command runs unchanged in a shell of this machine with the
 * `usual` settings. The demo must have been prepared.
 */
export function renderCommands(
  demo: Deployment,
  usual: Deployment,
  signIn: { developer: string | null; operator: string | null },
): string {
  const verify = (file: string): string =>
    `curl -s -w '\\n' -H 'Content-Type: application/json' --data-binary ${shellQuoted(`@${credentialFile(demo.dataDir, file)}`)} ${demo.publicUrl}${verifyPath}`
  const testKey = testKeyOf(demo.dataDir)
  return [
    '',
    `assay serves at ${demo.publicUrl} (Ctrl-C stops it).`,
    `Documentation: ${demo.publicUrl}/docs`,
    '',
    '# verify a genuine credential: "valid":true',
    verify('valid'),
    '',
    "# search with the demo's key",
    `curl -s -w '\\n' -H "Authorization: Bearer $(cat ${shellQuoted(keyFile(demo.dataDir, 'live'))})" '${demo.publicUrl}/api/v1/candidates/search?q=typescript'`,
    '',
    ...(testKey === null
      ? []
      : ['# a key for the sandbox: fictional data, free of charge', testKey, '']),
    '# a credential with a changed score: "reason":"signature_invalid"',
    verify('tampered'),
    '',
    '# the status of a revoked credential: "status":"revoked"',
    `curl -s -w '\\n' ${statusUrlOf(credentialFile(demo.dataDir, 'revoked'))}`,
    '',
    '# revoke an item of evidence: this terminal receives, verifies and shows its webhook',
    `${settingsOf(demo, usual)}${command} demo tick`,
    '',
    ...linkLines('# sign in as the developer of the demo', signIn.developer),
    ...linkLines('# work as the operator in the console', signIn.operator),
    `Candidates and scores, with the demo's key: ${join(demoFolder(demo.dataDir), 'README.md')}`,
    '',
  ].join('\n')
}

function linkLines(meaning: string, url: string | null): string[] {
  if (url === null) return []
  return [`${meaning}: open this in a browser (valid once, for 15 minutes)`, url, '']
}

/** Returns null if the account had too many keys when the demo was made. */
function testKeyOf(dataDir: string): string | null {
  const file = keyFile(dataDir, 'test')
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : null
}

/** Returns the settings that another terminal lacks: the demo's issuer depends on the address. */
function settingsOf(demo: Deployment, usual: Deployment): string {
  const settings = [
    ['PUBLIC_URL', demo.publicUrl, usual.publicUrl],
    ['ASSAY_DATA_DIR', demo.dataDir, usual.dataDir],
  ] as const
  return settings
    .filter(([, value, usualValue]) => value !== usualValue)
    .map(([name, value]) => `${name}=${shellQuoted(value)} `)
    .join('')
}

function statusUrlOf(file: string): string {
  const credential: unknown = JSON.parse(readFileSync(file, 'utf8'))
  if (typeof credential === 'object' && credential !== null && 'credentialStatus' in credential) {
    const { credentialStatus: status } = credential
    if (typeof status === 'object' && status !== null && 'id' in status) return String(status.id)
  }
  throw new Error(`${file} is not a credential with a status: remove it and start again`)
}

function shellQuoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
