/** Bulk input of sources and evidence. */
import type { Ingest } from '../../operations/ingest.ts'
import { readEvidenceLine } from './evidence-line.ts'
import { type BadgeRules, endImport, type IngestRules, importEvidence } from './ingest-evidence.ts'
import { registerSources } from './register-source.ts'
import {
  type BadgeLine,
  type EvidenceLine,
  evidenceLine,
  type SourceLine,
  sourceLine,
} from './schema.ts'
import { readSourceLine } from './source-line.ts'

export interface EvidenceServices {
  vocabulary(): Promise<IngestRules['vocabulary']>
  /** Without them every badge is refused. */
  badges?: BadgeRules
}

export const sourcesImport: Ingest<
  object,
  SourceLine,
  'registered' | 'changed' | 'unchanged',
  'sources.registered'
> = {
  name: 'sources import',
  http: 'POST /sources',
  summary: 'Register sources, or change how far they are trusted',
  who: { operator: 'admin' },
  audit: 'sources.registered',
  line: sourceLine,
  lineBytesMax: 4_096,
  batchMax: 256,
  results: ['registered', 'changed', 'unchanged'],
  example: { id: 'acme', name: 'Acme Ltd', kind: 'organisation', group: 'acme' },
  read: readSourceLine,
  apply: (tx, lines, { by, now }) => registerSources(tx, lines, { actor: by, now }),
}

export const evidenceImport: Ingest<
  EvidenceServices,
  EvidenceLine | BadgeLine,
  'added' | 'unchanged',
  'evidence.imported'
> = {
  name: 'evidence import',
  http: 'POST /evidence',
  summary: 'Send evidence',
  who: { operator: 'support', ingest: true },
  audit: 'evidence.imported',
  line: evidenceLine,
  // A line takes some 300 bytes, an Open Badge with its picture far more.
  lineBytesMax: 262_144,
  batchMax: 1_000,
  results: ['added', 'unchanged'],
  example: {
    username: 'ada-lovelace',
    sourceId: 'acme',
    externalId: '2026-117',
    skillId: 'hss:typescript',
    type: 'peer_review',
    value: 720,
    observedOn: '2026-05-14',
  },
  hidesText: true,
  read: readEvidenceLine,
  async apply(tx, lines, { importId, services, now }) {
    const { badges } = services
    const vocabulary = await services.vocabulary()
    return importEvidence(tx, lines, { vocabulary, importId, now, ...(badges && { badges }) })
  },
  end: endImport,
}
