/**
 * Shapes about workers: registration lines, permissions and the consent event (decisions D33, D34).
 */
import { type Static, Type } from 'typebox'
import { closedObject } from '../platform/json/closed-object.ts'
import { usernamePattern } from './username.ts'

export const permissions = ['public_profile', 'search_listing', 'score_sharing'] as const
export type Permission = (typeof permissions)[number]

/** Levels of a skill: the keys of the proficiency rubric in the specification. */
const skillLevels = ['novice', 'intermediate', 'advanced', 'expert'] as const

export const skillsMax = 100

function oneOf<Name extends string>(names: readonly Name[], description: string) {
  return Type.Unsafe<Name>(Type.Enum([...names], { description }))
}

function orNull<Text extends string>(description: string) {
  return Type.Unsafe<Text | null>(Type.Union([Type.String(), Type.Null()], { description }))
}

export const textVersion = Type.String({
  pattern: '^[0-9A-Za-z][0-9A-Za-z._:-]{0,63}$',
  description: 'must be 1 to 64 letters, digits or . _ : -, a letter or digit first',
})

/**
 * One line of `assay workers import --from`: a worker as the operator registers it. Fields that are
 * absent keep their value. Consents, identity checks and terms are applied once: reading the line
 * again does not undo a later decision of the worker.
 */
export const registration = closedObject({
  externalId: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'must be a string of 1 to 200 characters',
    }),
  ),
  username: Type.String({
    pattern: usernamePattern,
    description:
      'must be 3 to 30 of a-z 0-9 _ - (lowercase, no spaces), a letter or digit at both ends',
  }),
  displayName: Type.String({ description: 'must be a string of 1 to 80 characters' }),
  title: Type.Optional(orNull('must be null or a string of 1 to 120 characters')),
  bio: Type.Optional(orNull('must be null or a string of 1 to 2000 characters')),
  avatarUrl: Type.Optional(orNull('must be null or an https URL of at most 2048 characters')),
  memberSince: Type.Optional(Type.String({ description: 'must be a month, as YYYY-MM' })),
  skills: Type.Optional(
    Type.Array(
      closedObject(
        {
          name: Type.String({ description: 'must be a string of 1 to 80 characters' }),
          verified: Type.Optional(Type.Boolean({ description: 'must be true or false' })),
          level: Type.Optional(
            Type.Union([oneOf(skillLevels, ''), Type.Null()], {
              description: `must be null or one of ${skillLevels.join(', ')}`,
            }),
          ),
        },
        { description: 'must be an object with a name' },
      ),
      { maxItems: skillsMax, description: `must be a list of at most ${skillsMax} skills` },
    ),
  ),
  terms: Type.Optional(
    closedObject(
      {
        version: textVersion,
        acceptedAt: Type.String({ description: 'must be a date-time with a zone' }),
      },
      { description: 'must be an object with version and acceptedAt' },
    ),
  ),
  consents: Type.Optional(
    Type.Array(
      closedObject(
        {
          permission: oneOf(permissions, `must be one of ${permissions.join(', ')}`),
          textVersion,
        },
        { description: 'must be an object with permission and textVersion' },
      ),
      { maxItems: permissions.length, description: 'must be a list of one to three consents' },
    ),
  ),
  identity: Type.Optional(
    closedObject(
      { verifiedUntil: Type.String({ description: 'must be a date-time with a zone' }) },
      { description: 'must be an object with verifiedUntil' },
    ),
  ),
})
export type RegistrationLine = Static<typeof registration>
