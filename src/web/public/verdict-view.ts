/**
 * Pure: a verdict in words. Each sentence stands in one table, by the row, its state and the
 * reason.
 */
import type { Reason } from '../../credentials/reasons.ts'
import type { VerifyResult } from '../../credentials/schema.ts'
import { type Rows, rowsOf, type State } from '../assets/verdict-rows.ts'

export type VerdictTone = 'positive' | 'negative' | 'warning' | 'info'

export interface VerdictRow {
  row: keyof Omit<Rows, 'verdict'>
  title: string
  state: State
  sentence: string
}

export interface VerdictView {
  tone: VerdictTone
  word: string
  /** The state, and what to do. */
  sentence: string
  /** A signature that failed comes first. */
  rows: readonly VerdictRow[]
  verdict: State
  /** Host of the issuer that the document names. Only the host was verified. */
  issuerHost: string
}

export interface VerdictFacts {
  result: VerifyResult
  /** Host of this service. */
  host: string
  /** Null: the operator has given no name. */
  operatorName: string | null
}

/** A document that cannot be read names nobody. */
const nobody = 'no issuer'

export function verdictView({ result, host, operatorName }: VerdictFacts): VerdictView {
  const reason = (result.reason ?? 'valid') as Reason | 'valid'
  const named = hostOf(result.presented.issuer)
  const facts: Facts = {
    host: result.issuerMatch ? named : host,
    named,
    message: result.message,
    revokedOn: result.revocation.revokedAt?.slice(0, 10) ?? null,
    issuer: operatorName ?? named,
  }
  const { verdict, ...states } = rowsOf(result)
  const order: VerdictRow['row'][] =
    states.signature === 'failed'
      ? ['signature', 'issuer', 'revocation']
      : ['issuer', 'signature', 'revocation']
  const { tone, word, sentence } = headlines[reason]
  return {
    tone,
    word,
    sentence: sentence(facts),
    rows: order.map((row) => ({
      row,
      title: rowTitles[row],
      state: states[row],
      sentence: rowSentence(row, states[row], { reason, facts }),
    })),
    verdict,
    issuerHost: named,
  }
}

interface Facts {
  /** The host that the signature would prove. */
  host: string
  named: string
  message: string
  revokedOn: string | null
  issuer: string
}

/** Returns the host that a did:web names. */
function hostOf(issuer: unknown): string {
  const [, host] = /^did:web:([^:]+)/.exec(typeof issuer === 'string' ? issuer : '') ?? []
  if (host === undefined) return nobody
  return URL.canParse(`https://${decoded(host)}`) ? decoded(host) : nobody
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const rowTitles = { issuer: 'Issuer', signature: 'Signature', revocation: 'Revocation' } as const

interface Headline {
  tone: VerdictTone
  word: string
  sentence: (facts: Facts) => string
}

function notValid(what: string, sentence: Headline['sentence']): Headline {
  return { tone: 'negative', word: `Not valid: ${what}`, sentence }
}

const headlines: Readonly<Record<Reason | 'valid', Headline>> = {
  valid: {
    tone: 'positive',
    word: 'Valid',
    sentence: ({ issuer }) => `Issued by ${issuer}, unchanged since, and not revoked.`,
  },
  malformed_credential: notValid(
    'no score credential',
    ({ message }) => `${message} Ask the sender for the original file.`,
  ),
  ambiguous_json: notValid(
    'ambiguous',
    () => 'Two programs can read this document differently. Ask the sender for the original file.',
  ),
  unsupported_proof: notValid(
    'unknown proof',
    () => 'Its proof has a form that this service does not check. Ask the sender for another form.',
  ),
  issuer_mismatch: notValid(
    'another issuer',
    ({ named }) => `It names ${named} as its issuer. Check it at the site of that issuer.`,
  ),
  unknown_key: notValid(
    'unknown key',
    ({ host }) => `Its key never belonged to ${host}. Do not rely on anything in it.`,
  ),
  key_revoked: notValid(
    'key revoked',
    () => 'The issuer revoked its key. Ask the person for a new credential.',
  ),
  signature_invalid: notValid(
    'changed',
    () => 'This document is not what the issuer signed. Do not rely on anything in it.',
  ),
  not_yet_valid: notValid('not yet', ({ message }) => `${message} Check it again then.`),
  expired: {
    tone: 'warning',
    word: 'Expired',
    sentence: ({ message }) => `${message} Ask the person for a new one.`,
  },
  revoked: notValid(
    'revoked',
    ({ message }) => `${message} Do not rely on it; ask the person for the current one.`,
  ),
  status_unknown: notValid(
    'not registered',
    ({ host }) =>
      `The signature is right, but ${host} has never registered it. Do not rely on anything in it.`,
  ),
  status_unavailable: {
    tone: 'info',
    word: 'Could not check',
    sentence: () => 'The registry does not answer. Try again in a minute.',
  },
}

interface Found {
  reason: Reason | 'valid'
  facts: Facts
}

function rowSentence(row: VerdictRow['row'], state: State, { reason, facts }: Found): string {
  const sentence = sentences[row][state]
  return typeof sentence === 'function' ? sentence(facts, reason) : sentence
}

type Sentence = string | ((facts: Facts, reason: Reason | 'valid') => string)

const sentences: Readonly<Record<VerdictRow['row'], Readonly<Record<State, Sentence>>>> = {
  issuer: {
    passed: ({ host }) => `${host} issued this document.`,
    failed: ({ named }) => `The document names ${named}, which this service does not answer for.`,
    unknown: 'The document names no issuer that can be read.',
    nothing: ({ host }) =>
      `The document names ${host}. Without a valid signature, anyone can write that.`,
  },
  signature: {
    passed: 'Nothing has changed since the issuer signed it.',
    failed: ({ host }, reason) => {
      if (reason === 'unknown_key') return `The key that it names never belonged to ${host}.`
      if (reason === 'key_revoked') return 'The issuer revoked the key: others may hold it.'
      return 'At least one byte changed after the issuer signed it.'
    },
    unknown: ({ named }, reason) => {
      if (reason === 'unsupported_proof') return 'It has no proof of a form that can be checked.'
      if (reason === 'issuer_mismatch') return `Only ${named} has the keys for this check.`
      return 'There is no signed document to compare.'
    },
    nothing: 'There is no signed document to compare.',
  },
  revocation: {
    passed: 'The issuer has not revoked it.',
    failed: ({ host, revokedOn }, reason) => {
      if (reason === 'status_unknown') return `${host} has never registered this credential.`
      return revokedOn === null
        ? 'The issuer revoked it.'
        : `The issuer revoked it on ${revokedOn}.`
    },
    unknown: ({ named }, reason) => {
      if (reason === 'status_unavailable')
        return 'The registry does not answer. Try again in a minute.'
      if (reason === 'issuer_mismatch') return `Only ${named} knows whether it revoked it.`
      return 'There is no status that can be read.'
    },
    nothing: 'The status belongs to the original document, not to this one.',
  },
}
