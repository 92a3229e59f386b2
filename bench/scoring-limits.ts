/** The limits of scoring and issuing: what each computes, with nothing read or stored. */
import { generateKeyPairSync } from 'node:crypto'
import type { Client } from 'pg'
import { signerOfPem } from '../src/credentials/signing-key.ts'
import { releasedVocabulary } from '../src/main/scoring.ts'
import type { Evidence } from '../src/scoring/core/evidence.ts'
import { loadEngine } from '../src/scoring/scores/engine.ts'

/**
 * Returns workers a second with the evidence of some thousand workers in memory. Explanations are
 * brief.
 */
export async function engineAlone(
  client: Client,
  work: 'score' | 'explain' = 'score',
): Promise<number> {
  const { rows } = await client.query<Evidence & { worker: string }>(`
    select worker_id as worker, evidence_id as id, skill_id as "skillId", type, independence_group as "group",
      assurance, value, observed_on - date '1970-01-01' as "observedDay", encode(digest, 'hex') as digest
    from evidence join sources using (source_id)
    where worker_id in (select id from workers order by id limit 5000) order by worker_id`)
  const byWorker = Map.groupBy(rows, ({ worker }) => worker)
  const engine = await loadEngine()
  const vocabulary = releasedVocabulary()
  const asOfDay = Math.max(...rows.map(({ observedDay }) => observedDay)) + 30
  const startedAt = performance.now()
  for (const evidence of byWorker.values()) engine[work]({ evidence, vocabulary, asOfDay }, true)
  return (byWorker.size * 1_000) / (performance.now() - startedAt)
}

/** Returns signatures a second. */
export function signaturesAlone(): number {
  const { privateKey } = generateKeyPairSync('ed25519')
  const signer = signerOfPem(String(privateKey.export({ type: 'pkcs8', format: 'pem' })))
  const bytes = Buffer.alloc(64, 7)
  const count = 20_000
  const startedAt = performance.now()
  for (let i = 0; i < count; i++) signer?.sign(bytes)
  return (count * 1_000) / (performance.now() - startedAt)
}
