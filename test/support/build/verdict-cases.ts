/** Credentials, keys and lists with the verdict of the service's own verifier. */
import { readFileSync } from 'node:fs'
import { didDocumentOf, publicKeyDocumentOf } from '../../../src/credentials/documents.ts'
import {
  bitsOf,
  statusListPayload,
  statusListProofs,
} from '../../../src/credentials/status-list.ts'
import { verifyOffline } from '../../../src/credentials/verify-offline.ts'
import { parseStrictJson } from '../../../src/platform/json/strict-json.ts'
import fc from '../oracle/fc.ts'
import {
  changed,
  inside,
  type Json,
  keyRow,
  now,
  origin,
  sign,
  signer,
  signerOf,
  vector,
  vectorCredentials,
} from './credentials.ts'

const entry = inside(vectorCredentials.native, 'credentialStatus')
const place = Number(entry.statusListIndex)
const listId = String(entry.statusListCredential).split('/').at(-1) ?? ''

function listOf(revoked: number[], publishedAt = now, by = signer): Record<string, Json> {
  const payload = statusListPayload(origin, { listId, bits: bitsOf(revoked), publishedAt })
  const { native, 'eddsa-jcs-2022': jcs } = statusListProofs(payload, origin, by)
  return { native: { ...payload, proof: native }, jcs: { ...payload, proof: jcs } }
}

const yesterday = new Date(now.getTime() - 87_000_000)
const published = JSON.parse(readFileSync('vectors/status-list.json', 'utf8'))

const lists: Record<string, unknown> = {
  clean: listOf([]).jcs,
  'clean, native': listOf([]).native,
  revoked: listOf([place]).jcs,
  old: listOf([], yesterday).jcs,
  'of another key': listOf([], now, signerOf(8)).jcs,
  published: published.credentials['eddsa-jcs-2022'],
}

const revokedKey = keyRow(signer, { state: 'revoked', revokedAt: now })
const keyDocuments: Record<string, unknown> = {
  did: didDocumentOf(origin, [keyRow(signer)]),
  key: publicKeyDocumentOf(origin, keyRow(signer)),
  'of another key': publicKeyDocumentOf(origin, keyRow(signerOf(8))),
  'with the key revoked': didDocumentOf(origin, [revokedKey]),
}

interface Question {
  text: string
  keyDocument: string
  statusLists: readonly string[]
  now: Date
}

export interface VerdictCase extends Question {
  expected: Json
}

export interface VerdictCases {
  keyDocuments: Record<string, unknown>
  lists: Record<string, unknown>
  verdicts: VerdictCase[]
}

const forms = ['native', 'eddsa-jcs-2022'] as const

/** Returns every combination of the vectors, keys, lists and times, and `mutations` changed texts. */
export function verdictCases(mutations: number): VerdictCases {
  const questions = [...vectorQuestions(), ...fc.sample(mutated, { numRuns: mutations, seed: 23 })]
  const verdicts = questions.map((question) => ({ ...question, expected: expectedOf(question) }))
  return { keyDocuments, lists, verdicts }
}

function vectorQuestions(): Question[] {
  const times = [now, new Date('2026-01-01T00:00:00Z'), new Date('2029-01-01T00:00:00Z')]
  const vectors = forms.flatMap((form) =>
    Object.keys(keyDocuments).flatMap((keyDocument) =>
      [[], ...Object.keys(lists).map((name) => [name]), ['clean', 'revoked']].flatMap(
        (statusLists) =>
          times.map((at) => ({
            text: JSON.stringify(vectorCredentials[form]),
            keyDocument,
            statusLists,
            now: at,
          })),
      ),
    ),
  )
  const at = new Date(Date.parse(published.credentials.native.validFrom) + 1_000)
  const named = [...published.revokedIndexes, 1, 9, 131_070].map((index: number) => {
    const payload = changed(vector.payload, (copy) => {
      Object.assign(inside(copy, 'credentialStatus'), {
        statusListCredential: published.credentials.native.id,
        statusListIndex: String(index),
      })
    })
    const text = JSON.stringify(sign(payload))
    return { text, keyDocument: 'did', statusLists: ['published'], now: at }
  })
  return [...vectors, ...named]
}

function expectedOf({ text, keyDocument, statusLists, now: at }: Question): Json {
  const nothing = {
    valid: false,
    reason: 'malformed_credential',
    issuerMatch: false,
    signatureValid: false,
    revocation: { checked: false, revoked: false },
  }
  const read = parseStrictJson(Buffer.from(text))
  if (read.kind === 'invalid' || !isObject(read.value)) return nothing
  const ambiguity = read.kind === 'ambiguous' ? read.why : null
  const key = keyDocuments[keyDocument]
  const files = { key, lists: statusLists.map((name) => lists[name]) }
  const verdict = verifyOffline(read.value, ambiguity, { files, now: at })
  const { valid, reason = null, issuerMatch, signatureValid } = verdict
  const { checked, revoked } = verdict.revocation
  return { valid, reason, issuerMatch, signatureValid, revocation: { checked, revoked } }
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const values = fc.constantFrom<unknown>(
  null,
  7,
  1.5,
  '',
  'x',
  [],
  {},
  true,
  '2026-02-30T00:00:00Z',
  'did:web:x',
)

/** A credential with one member set, removed or added, and perhaps signed again. */
const changedMember = fc
  .record({
    form: fc.constantFrom(...forms),
    at: fc.nat(),
    change: fc.constantFrom('set', 'delete', 'add'),
    value: values,
    isSigned: fc.boolean(),
  })
  .map(({ form, at, change, value, isSigned }: MemberChange) => {
    const document = isSigned ? vector.payload : vectorCredentials[form]
    const paths = pathsOf(document)
    const path = paths[at % paths.length] as string[]
    const mutation = changed(document, (copy) => {
      const parent = path.slice(0, -1).reduce<Json>((node, name) => node[name] as Json, copy)
      const name = path.at(-1) as string
      if (change === 'delete') delete parent[name]
      else parent[change === 'add' ? `${name}x` : name] = value
    })
    return JSON.stringify(isSigned ? sign(mutation) : mutation)
  })

interface MemberChange {
  form: (typeof forms)[number]
  at: number
  change: string
  value: unknown
  isSigned: boolean
}

const nativeText = JSON.stringify(vectorCredentials.native)

const changedCharacters = fc
  .tuple(
    fc.nat(nativeText.length),
    fc.nat(3),
    fc.constantFrom('', '"', '{', '}', '[', ',', '0', '1e400', '\\u0000', '\\ud800', 'Z', '"a":1,'),
  )
  .map(
    ([at, cut, put]: [number, number, string]) =>
      nativeText.slice(0, at) + put + nativeText.slice(at + cut),
  )

const mutated = fc.record({
  text: fc.oneof(changedMember, changedCharacters),
  keyDocument: fc.constantFrom('did', 'key'),
  statusLists: fc.constantFrom(['clean'], ['clean, native'], ['revoked']),
  now: fc.constant(now),
})

function pathsOf(node: unknown, path: string[] = []): string[][] {
  if (typeof node !== 'object' || node === null) return [path]
  const below = Object.entries(node).flatMap(([name, value]) => pathsOf(value, [...path, name]))
  return path.length === 0 ? below : [path, ...below]
}
