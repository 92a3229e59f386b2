/** What the operator is shown when the demo is ready: commands to paste. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { verifyPath } from '../score-credentials/schema.ts'
import { credentialFile, demoFolder } from './files.ts'

interface Place {
  publicUrl: string
  dataDir: string
}

/**
 * Lines to print. Each command works as it is in a shell of this machine that has the `usual` settings; the demo must have been prepared.
 */
export function demoCommands(demo: Place, usual: Place, signInUrl: string | null): string {
  const verify = (file: string): string =>
    `curl -s -w '\\n' -H 'Content-Type: application/json' --data-binary ${shellQuoted(`@${credentialFile(demo.dataDir, file)}`)} ${demo.publicUrl}${verifyPath}`
  return [
    '',
    `assay serves at ${demo.publicUrl} (Ctrl-C stops it). Paste one of these:`,
    '',
    '# a genuine credential: "valid":true',
    verify('valid'),
    '',
    '# somebody wrote a better score into it: "reason":"signature_invalid"',
    verify('tampered'),
    '',
    '# the status of one that its issuer revoked: "status":"revoked"',
    `curl -s -w '\\n' ${statusUrlOf(credentialFile(demo.dataDir, 'revoked'))}`,
    '',
    '# something happens: its webhook is received, verified and shown here',
    `${settingsOf(demo, usual)}bin/assay demo tick`,
    '',
    ...(signInUrl === null
      ? []
      : [
          '# sign in as the developer of the demo: open this in a browser; it works once, for 15 minutes',
          signInUrl,
          '',
        ]),
    `Search, people and scores, with the demo's key: ${join(demoFolder(demo.dataDir), 'README.md')}`,
    '',
  ].join('\n')
}

/** Another terminal does not have this one's settings, and under another address the demo's issuer is another. */
function settingsOf(demo: Place, usual: Place): string {
  const settings = [
    ['PUBLIC_URL', demo.publicUrl, usual.publicUrl],
    ['ASSAY_DATA_DIR', demo.dataDir, usual.dataDir],
  ] as const
  return settings
    .filter(([, here, there]) => here !== there)
    .map(([name, here]) => `${name}=${shellQuoted(here)} `)
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
