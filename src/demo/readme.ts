/** Pure: the README beside the demo's files. */
import { lessons, story } from './story.ts'

export function readmeOf(publicUrl: string): string {
  const rows = Object.entries(lessons).map(
    ([file, { reason, what }]) =>
      `| \`credentials/${file}.json\` | ${reason === null ? 'valid' : `\`${reason}\``} | ${what} |`,
  )
  const others = story.filter(({ file }) => file.startsWith('demo-')).map(({ file }) => file)
  return `# The demo

A dozen fictional people had their skills scored and hold credentials of this service, ${publicUrl}.
Some of these credentials are not to be believed any more, and one never was. Ask the service:

    curl -s -H 'Content-Type: application/json' --data-binary @credentials/revoked.json \\
      ${publicUrl}/api/v1/score-vc/verify

| file | verification says | what happened |
|---|---|---|
${rows.join('\n')}

The others are valid: ${others.join(', ')}.

Nobody here exists. The files are made again when one is missing or when PUBLIC_URL changes.
`
}
