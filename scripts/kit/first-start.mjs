/**
 * `first-start.mjs COMMAND`: starts the demo of an installed package in the present, empty folder,
 * uses it, and prints the milliseconds until it was ready. Runs without a network: in a namespace of
 * its own, where only this process reaches the service.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

const [command] = process.argv.slice(2)
const base = `http://127.0.0.1:${process.env.PORT}`
if (process.env.ALONE === 'yes') execFileSync('ip', ['link', 'set', 'lo', 'up'])

const startedAt = performance.now()
const server = spawn(command, ['serve', '--demo'], { stdio: ['ignore', 'inherit', 'inherit'] })
const ended = once(server, 'exit')
while (!(await isReady())) {
  if (server.exitCode !== null) throw new Error(`assay ended with ${server.exitCode}`)
  await pause(10)
}
const readyMs = Math.round(performance.now() - startedAt)

const credential = readFileSync(join(process.env.ASSAY_DATA_DIR, 'demo/credentials/valid.json'))
const headers = { 'Content-Type': 'application/json' }
const verify = { method: 'POST', headers, body: credential }
const { valid } = await (await fetch(`${base}/api/v1/score-vc/verify`, verify)).json()
const paths = [
  '/',
  '/docs',
  '/docs/install',
  '/verify',
  '/status',
  '/standard/v1/skills/typescript',
]
const pages = await Promise.all(paths.map(async (path) => (await fetch(base + path)).status))
execFileSync(command, ['demo', 'tick'])
const doctor = JSON.parse(execFileSync(command, ['doctor', '--json'], { encoding: 'utf8' }))
server.kill('SIGTERM')
const [code] = await ended
console.error(JSON.stringify({ readyMs, valid, pages, doctor: doctor.ok, code }))

function isReady() {
  return fetch(`${base}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  )
}
