/**
 * Pure: the fictional people of the demo, what happened to their credentials, and what a verifier says of each. Their handles begin
 * with `demo-`: no real person's credential is ever superseded by one of these.
 */
import { hash } from 'node:crypto'

/** The credentials that each show one finding, by file name: the reason that verification gives, or null; and what happened. */
export const lessons = {
  valid: { reason: null, what: 'Genuine and current.' },
  revoked: { reason: 'revoked', what: 'Genuine, and taken back by its issuer.' },
  tampered: {
    reason: 'signature_invalid',
    what: 'Genuine once; then somebody wrote a better score into it.',
  },
  expired: { reason: 'expired', what: 'Genuine, and past its last day.' },
  superseded: {
    reason: null,
    what: 'Genuine and true of its date. The same person has a newer one: the verifier notes `superseded`.',
  },
  'wrong-issuer': {
    reason: 'issuer_mismatch',
    what: 'Well signed, by an organisation that is not this one.',
  },
} as const

export interface DemoCredential {
  /** File name without `.json`: what it shows, or whose it is. */
  file: string
  username: string
  score: number
  confidenceLow: number
  confidenceHigh: number
  evidenceCount: number
  /** Issued this long before the demo was made. */
  daysAgo: number
  validityDays: number
}

/** In the order of issue; of two for one person the later one is current. */
export const story: readonly DemoCredential[] = [
  issued('superseded', 'demo-teun-visser', 200, [438, 371, 517, 9]),
  issued('expired', 'demo-noor-haddad', 150, [512, 461, 569, 14], 90),
  issued('demo-sofia-lindqvist', 'demo-sofia-lindqvist', 90, [861, 829, 886, 58]),
  issued('demo-kenji-morita', 'demo-kenji-morita', 75, [655, 611, 697, 23]),
  issued('revoked', 'demo-lucia-marchetti', 60, [694, 640, 741, 26]),
  issued('tampered', 'demo-piotr-zielinski', 45, [391, 322, 468, 7]),
  issued('demo-ravi-menon', 'demo-ravi-menon', 33, [604, 548, 660, 17]),
  issued('demo-elif-kaya', 'demo-elif-kaya', 21, [527, 466, 592, 12]),
  issued('demo-teun-visser', 'demo-teun-visser', 15, [583, 536, 631, 21]),
  issued('valid', 'demo-amara-okonkwo', 10, [742, 701, 778, 31]),
  issued('demo-mateo-rojas', 'demo-mateo-rojas', 8, [334, 262, 421, 5]),
  issued('demo-hana-svoboda', 'demo-hana-svoboda', 4, [268, 181, 389, 2]),
]

/** Issued by a made-up organisation, with a key of its own. */
export const foreign = issued('wrong-issuer', 'demo-jonas-weber', 30, [905, 880, 927, 64])
export const foreignUrl = 'https://scores.northwind.example'

/** The revoked one was revoked this long before the demo was made. */
export const revokedDaysAgo = 12

/** What the tampered one claims. */
export const tamperedScore = 891

/** The demo's signing key is this much older than the demo: it was active through all of the story. */
export const keyDaysAgo = 400

export const engine = {
  engineVersion: '1.4.2',
  engineBinarySha256: hash('sha256', 'the engine of a story', 'hex'),
}

/** A demo of an earlier half-year is told anew, so that what is valid in it stays valid. */
const generationMs = 180 * 86_400_000

export function generationAt(now: Date): number {
  return Math.floor(now.getTime() / generationMs)
}

/** The same for whoever makes the same demo, so that what was made is found again (UUID version 8, RFC 9562). */
export function credentialIdOf(
  { file }: DemoCredential,
  demo: { publicUrl: string; generation: number },
): string {
  const digest = hash('sha256', `demo ${demo.publicUrl} ${demo.generation} ${file}`, 'hex')
  const [a, b, c, d, e] = [
    digest.slice(0, 8),
    digest.slice(8, 12),
    digest.slice(13, 16),
    digest.slice(17, 20),
    digest.slice(20, 32),
  ]
  return `${a}-${b}-8${c}-8${d}-${e}`
}

function issued(
  file: string,
  username: string,
  daysAgo: number,
  [score, confidenceLow, confidenceHigh, evidenceCount]: readonly [number, number, number, number],
  validityDays = 365,
): DemoCredential {
  const interval = { score, confidenceLow, confidenceHigh, evidenceCount }
  return { file, username, ...interval, daysAgo, validityDays }
}
