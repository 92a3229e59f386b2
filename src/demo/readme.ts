/** Pure: the README beside the demo's files. */
import { command } from './files.ts'
import { disputing, revokedEvidence, samples, withdrawn } from './scenario.ts'

export function renderReadme(publicUrl: string): string {
  const rows = Object.entries(samples).map(
    ([file, { reason, description }]) =>
      `| \`credentials/${file}.json\` | ${reason === null ? 'valid' : `\`${reason}\``} | ${description} |`,
  )
  return `# The demo

The service at ${publicUrl} scored the skills of sixty workers. All of them are fictional.

## Credentials

Each file holds a credential with another result of verification. Verify one:

    curl -s -H 'Content-Type: application/json' --data-binary @credentials/revoked.json \\
      ${publicUrl}/api/v1/score-vc/verify

| file | result | reason |
|---|---|---|
${rows.join('\n')}

## Search, candidates and scores

The file \`api-key\` holds the API key of the account \`demo\`, which has 1,000 credits. The file \`test-key\` holds its key for the
sandbox, whose candidates cost nothing. In this folder, run:

    curl -s -H "Authorization: Bearer $(cat api-key)" "${publicUrl}/api/v1/candidates/search?q=typescript"
    curl -s -H "Authorization: Bearer $(cat api-key)" ${publicUrl}/api/v1/candidates/demo-amara-okonkwo

If metering and payments are on, a request without the key gets 402 with the price and the address to pay. The demo
accepts no payments. \`npm run demo:x402\` shows a payment from the challenge to the receipt, on a local chain.

Search lists only workers with the consent to be listed. ${withdrawn.username} withdrew the consent to share the score, which
revoked the credentials. Two items of evidence of ${revokedEvidence.username} were revoked, and the score was revised.
${disputing.username} disputes the score, so the service hides it until the dispute is resolved: \`${command} disputes list\`.

## Source records

\`sources.ndjson\`, \`people.ndjson\` and \`evidence.ndjson\` hold the registered records, in the formats of
\`assay sources register\`, \`workers import\` and \`evidence import\`. To import your own records, see docs/issue-scores.md.

The server rewrites these files if one is missing, if PUBLIC_URL changes, and before the credentials expire.
`
}
