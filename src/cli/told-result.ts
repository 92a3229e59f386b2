/** Pure: the result of a verification for a person to read. */
import type { VerifyResult } from '../score-credentials/schema.ts'
import { oneLine } from './render.ts'

export function toldResult(result: VerifyResult): string[] {
  const { valid, reason, message, revocation, credential, notes } = result
  const verdict = valid ? 'VALID' : `NOT VALID (${oneLine(reason)})`
  const lines = [`${verdict}: ${oneLine(message)}`]
  const finding = (name: string, text: string): void => {
    lines.push(`  ${name.padEnd(11)}${text}`)
  }
  finding('issuer', result.issuerMatch ? 'is the expected one' : 'is not the expected one')
  finding('signature', result.signatureValid ? 'holds' : 'does not hold, or was not checked')
  finding('revocation', toldRevocation(revocation))
  if (credential !== undefined) {
    const { subject, score, scoreBand, issuedAt } = credential
    finding('states', `${oneLine(subject)}: score ${oneLine(score)} (${oneLine(scoreBand)})`)
    finding('as of', oneLine(issuedAt))
  }
  if (notes.length > 0) finding('notes', notes.map(oneLine).join(', '))
  return lines
}

function toldRevocation({ checked, revoked, revokedAt }: VerifyResult['revocation']): string {
  if (!checked) return 'not checked'
  if (!revoked) return 'not revoked'
  return revokedAt ? `revoked on ${oneLine(revokedAt)}` : 'revoked'
}
