import assert from 'node:assert/strict'
import { test } from 'node:test'
import { calibrationFinding } from './doctor-calibration.ts'

const row = { workers: 300, compared: 300, inside: 0.97, meanError: 1, low: false } as const
const all = { ...row, by: 'all', name: 'all' } as const

test('doctor says how many results were compared, and warns of each row below 93 %', () => {
  assert.partialDeepStrictEqual(calibrationFinding([]), { level: 'ok' })
  const sound = calibrationFinding([all])
  assert.deepEqual([sound.level, sound.message.split(' ')[0]], ['ok', '300'])
  const harsh = { ...row, by: 'source', name: 'harsh', inside: 0.912, low: true } as const
  const finding = calibrationFinding([all, harsh])
  assert.equal(finding.level, 'warn')
  assert.match(finding.message, /93 % of later results: 91\.2 % \(source harsh\)\./)
})
