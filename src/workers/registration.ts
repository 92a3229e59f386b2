/** Pure: parses a line of the operator into a registration, or into the reason for refusing it. */
import { Compile } from 'typebox/compile'
import { instantOf, monthOf } from '../platform/clock.ts'
import { type Fault, firstFault } from '../platform/json/shape-fault.ts'
import { faultOfUntil } from './identity-state.ts'
import { faultOfProfile, faultOfText, type Profile } from './profile.ts'
import { type Permission, type RegistrationLine, registration } from './schema.ts'

export interface Registration {
  /** Operator's own id of the worker. If it is null, the username identifies the worker. */
  externalId: string | null
  /** Fields that are absent keep their value. */
  profile: Partial<Profile> & Pick<Profile, 'username' | 'displayName'>
  terms: { version: string; acceptedAt: Date } | null
  consents: readonly { permission: Permission; textVersion: string }[]
  verifiedUntil: Date | null
}

const shape = Compile(registration)

export function readRegistration(value: unknown, now: Date): Registration | { refused: Fault } {
  if (!shape.Check(value)) return { refused: firstFault(shape, value) }
  const line: RegistrationLine = value
  const { externalId = null, terms, consents = [], identity, skills, ...rest } = line
  const shown = skills?.map(({ name, verified = false, level = null }) => {
    return { name, verified, level }
  })
  const profile = { ...rest, ...(shown !== undefined && { skills: shown }) }
  const acceptedAt = terms === undefined ? null : instantOf(terms.acceptedAt)
  const verifiedUntil = identity === undefined ? null : instantOf(identity.verifiedUntil)
  const refused =
    faultOfText('externalId', externalId, { max: 200 }) ??
    faultOfProfile(profile, monthOf(now)) ??
    (terms === undefined ? null : faultOfAcceptance(acceptedAt, now)) ??
    (identity === undefined ? null : faultOfUntil('identity.verifiedUntil', verifiedUntil, now)) ??
    faultOfConsents(consents)
  if (refused !== null) return { refused }
  return {
    externalId,
    profile,
    terms: terms && acceptedAt ? { version: terms.version, acceptedAt } : null,
    consents,
    verifiedUntil,
  }
}

function faultOfAcceptance(acceptedAt: Date | null, now: Date): Fault | null {
  const field = 'terms.acceptedAt'
  if (acceptedAt === null) return { field, reason: 'must be a date-time with a zone' }
  return acceptedAt > now ? { field, reason: 'must not be in the future' } : null
}

function faultOfConsents(consents: Registration['consents']): Fault | null {
  for (const [i, { permission }] of consents.entries())
    if (consents.findIndex((other) => other.permission === permission) < i)
      return { field: `consents.${i}.permission`, reason: 'is named twice' }
  return null
}
