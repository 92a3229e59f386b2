/**
 * Checks the OpenAPI document with Redocly: it follows the rules, is easy to use for developers and
 * agents (score), and keeps every promise of the last release (diff).
 */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const contract = 'openapi/2026-05-14.json'
/** A release copies the document there. */
const released = 'openapi/released/2026-05-14.json'
const scoreMin = 92

const [lint, score, diff] = await Promise.all([
  redocly('lint', contract, '--format=json'),
  redocly('score', contract, '--format=json'),
  redocly('diff', released, contract),
])
const [errors, warnings] = ['errors', 'warnings'].map((name) => numberIn(lint.output, name))
if (lint.code !== 0 || errors !== 0 || warnings !== 0)
  fail('The OpenAPI document breaks rules.', lint.output)
const points = numberIn(score.output, 'agentReadiness')
if (!(points >= scoreMin))
  fail(
    `The score of the OpenAPI document is ${points}, not ${scoreMin} or more.`,
    `Members without a description or a limit lower it: npx redocly score ${contract}`,
  )
if (diff.code !== 0) fail('The OpenAPI document breaks a promise of the last release.', diff.output)

/** Returns the first number with this name in a JSON report, or NaN. */
function numberIn(report, name) {
  return Number(new RegExp(`"${name}":\\s*([\\d.]+)`).exec(report)?.[1])
}

function fail(message, details) {
  console.log(`${message}\n${details.trim()}`)
  process.exitCode = 1
}

function redocly(...args) {
  const folder = join(root, 'node_modules/@redocly/cli')
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  // Without these, Redocly reports its use and asks for newer versions.
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [join(folder, bin.redocly), ...args], { cwd: root, env })
    let output = ''
    const keep = (chunk) => {
      output += chunk
    }
    child.stdout.setEncoding('utf8').on('data', keep)
    child.stderr.setEncoding('utf8').on('data', keep)
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, output }))
  })
}
