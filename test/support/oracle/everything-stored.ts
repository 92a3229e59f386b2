/** All text that a copy of the database would reveal. */
import { Client } from 'pg'
import { secretBytes } from '../../../src/webhooks/delivery/secret.ts'

/** Returns every row of every table but `except` as text, with bytes in hex. */
export async function everythingStored(
  url: string,
  except: readonly string[] = [],
): Promise<string> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const { rows: tables } = await client.query<{ name: string }>(
      `select quote_ident(tablename) as name from pg_tables
       where schemaname = 'public' and tablename <> all($1)`,
      [except],
    )
    const texts: string[] = []
    for (const { name } of tables) {
      const { rows } = await client.query<{ text: string }>(`select t::text as text from ${name} t`)
      texts.push(...rows.map(({ text }) => text))
    }
    return texts.join('\n')
  } finally {
    await client.end()
  }
}

/** Returns the encodings in which a webhook secret could be stored by mistake. */
export function formsOf(signingSecret: string): string[] {
  const bytes = secretBytes(signingSecret)
  const whole = Buffer.from(signingSecret)
  return [
    signingSecret,
    signingSecret.slice('whsec_'.length),
    // Without the prefix that may be shown.
    signingSecret.slice(18),
    bytes.toString('hex'),
    bytes.toString('base64'),
    whole.toString('hex'),
    whole.toString('base64'),
  ]
}
