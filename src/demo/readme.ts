/** Pure: the README beside the demo's files. */
import { disputing, lessons, revokedEvidence, withdrawn } from './story.ts'

export function readmeOf(publicUrl: string): string {
  const rows = Object.entries(lessons).map(
    ([file, { reason, what }]) =>
      `| \`credentials/${file}.json\` | ${reason === null ? 'valid' : `\`${reason}\``} | ${what} |`,
  )
  return `# The demo

Sixty fictional people had their skills scored by this service, ${publicUrl}. Nobody here exists.

## Credentials

Some credentials are not to be believed any more, and one never was. Ask the service:

    curl -s -H 'Content-Type: application/json' --data-binary @credentials/revoked.json \\
      ${publicUrl}/api/v1/score-vc/verify

| file | verification says | what happened |
|---|---|---|
${rows.join('\n')}

## Search, people and scores

The file \`api-key\` holds the key of the account \`demo\`, which has 1,000 credits. In this folder:

    curl -s -H "Authorization: Bearer $(cat api-key)" "${publicUrl}/api/v1/candidates/search?q=typescript"
    curl -s -H "Authorization: Bearer $(cat api-key)" ${publicUrl}/api/v1/candidates/demo-amara-okonkwo

Unless payments or metering are off, the answer without the key is 402: what the read costs, and whom a program with a wallet would pay. The demo takes no payments; \`npm run demo:x402\`
shows one from the challenge to the receipt, on a chain of its own.

A person who is not found has not agreed to be. ${withdrawn.username} took back the consent to share a score, and the credentials went with it;
evidence of ${revokedEvidence.username} turned out to be somebody else's, and the score was revised. ${disputing.username} disputes a
score, which is not shown until that is resolved: \`bin/assay disputes list\`.

## Where it comes from

\`sources.ndjson\`, \`people.ndjson\` and \`evidence.ndjson\` are what was registered, as \`assay sources register\`, \`workers import\` and
\`evidence import\` read it. To do the same with your own records, see docs/issue-scores.md.

The files are made again when one is missing, when PUBLIC_URL changes, and before the credentials expire.
`
}
