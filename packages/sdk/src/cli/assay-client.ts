#!/usr/bin/env node
/** The command `assay-client`, for developers who use the service of another operator. */
import { text as textOf } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import { Client, type ProofForm } from '../client.ts'
import { AssayError, AuthenticationError, PermissionError } from '../errors.ts'
import type { ReportAgentDecisionRequest } from '../wire.ts'
import { eventTypes, forwardEvents, type Say, triggerEvent } from './listen-command.ts'
import { readSettings, readStored, type Settings, store } from './settings.ts'
import { readFile, verifySource } from './verify-command.ts'

const help = `assay-client: use a service of assay from the command line.

  verify FILE|URL|-          check a credential: 0 valid, 1 not valid, 2 could not check
  skills [TEXT]              list the skills whose name contains TEXT
  search TEXT                find candidates (costs credits)
  candidate USERNAME         read a candidate (costs credits)
  score ID                   read a score (costs credits)
  credential USERNAME|ID     read a signed credential (costs credits)
  report FILE|-              report a decision, as JSON
  webhooks listen            bring events to a receiver on this machine
  webhooks trigger TYPE      send the receiver one fictional event, such as score.updated
  login URL                  store the address and the key, which is read from standard input
  whoami                     say which service and key are used
  completion [SHELL]         print the completion for bash, zsh or fish

  --json                     print answers and errors as lines of JSON
  --issuer DID               verify: the issuer that the credential must have
  --limit N                  search: at most N candidates
  --proof FORM               credential: native, eddsa-jcs-2022 or eddsa-rdfc-2022
  --idempotency-key KEY      report: names the report, so that a repeat creates nothing
  --forward-to URL           webhooks: the receiver, for example http://localhost:3000/hook
  --since TIME               listen: begin with the events since then; default: where the last
                             listen ended, and the first time with the events from now on
  --after CURSOR             listen: begin behind this position of the feed
  --types A,B                listen: only these event types

The address and the key come from \`login\`, or from ASSAY_URL and ASSAY_API_KEY.

  assay-client verify credential.json
  echo svc_test_… | assay-client login https://scores.example.org
  assay-client webhooks listen --forward-to http://localhost:3000/hook
`

const commands = help.matchAll(/^ {2}([a-z]+)/gm)
const names = [...new Set([...commands].map(([, name = '']) => name))]

class UsageError extends Error {}

function parsedArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
        issuer: { type: 'string' },
        limit: { type: 'string' },
        proof: { type: 'string' },
        'idempotency-key': { type: 'string' },
        'forward-to': { type: 'string' },
        after: { type: 'string' },
        since: { type: 'string' },
        types: { type: 'string' },
      },
    })
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

type Options = ReturnType<typeof parsedArguments>['values']

function clientOf({ baseUrl, apiKey }: Settings): Client {
  if (baseUrl === undefined)
    throw new UsageError('No service is known: run assay-client login URL, or set ASSAY_URL.')
  return new Client(apiKey === undefined ? { baseUrl } : { baseUrl, apiKey })
}

function one(words: readonly string[], what: string): string {
  const [word, ...more] = words
  if (word === undefined || more.length > 0) throw new UsageError(`Give one ${what}.`)
  return word
}

function print(value: unknown, { json }: Options): void {
  process.stdout.write(`${json ? JSON.stringify(value) : JSON.stringify(value, null, 2)}\n`)
}

/** Returns the exit code. */
async function run(): Promise<number> {
  const { positionals, values: options } = parsedArguments()
  const [command, ...words] = positionals
  if (command === undefined || options.help) {
    process.stdout.write(help)
    return 0
  }
  const client = (): Client => clientOf(readSettings())
  switch (command) {
    case 'verify':
      return verify(one(words, 'file, address or -'), options)
    case 'skills':
      return listSkills(client(), words.join(' '), options)
    case 'search': {
      const { limit } = options
      const query = { q: words.join(' '), limit: limit === undefined ? undefined : Number(limit) }
      print(await client().candidates.search(query), options)
      return 0
    }
    case 'candidate':
      print(await client().candidates.get(one(words, 'username')), options)
      return 0
    case 'score':
      print(await client().scores.get(one(words, 'id of a score')), options)
      return 0
    case 'credential':
      return credential(client(), one(words, 'username or id of a score'), options)
    case 'report':
      return report(client(), one(words, 'file or -'), options)
    case 'webhooks':
      return webhooks(words, options)
    case 'login':
      return login(one(words, 'address'), options)
    case 'whoami':
      return whoami(client(), options)
    case 'completion':
      return completion(words, options)
    default:
      throw new UsageError(`There is no command ${command}.`)
  }
}

async function verify(source: string, options: Options): Promise<number> {
  const checked = await verifySource(source, options.issuer)
  const { valid, reason, message, issuer } = checked
  if (options.json) print(checked, options)
  else
    process.stdout.write(
      `${valid ? 'valid' : `not valid: ${reason}`}\n${message}\nissuer: ${issuer}\n`,
    )
  return valid ? 0 : 1
}

async function listSkills(client: Client, part: string, options: Options): Promise<number> {
  const { skills } = await client.skills.list()
  const sought = part.toLowerCase()
  const found = skills.filter(({ id, label, aliases }) =>
    [id, label, ...aliases].some((name) => name.toLowerCase().includes(sought)),
  )
  if (options.json) print(found, options)
  else for (const { id, label } of found) process.stdout.write(`${id.padEnd(36)} ${label}\n`)
  return 0
}

async function credential(client: Client, name: string, options: Options): Promise<number> {
  const call = options.proof === undefined ? {} : { proof: options.proof as ProofForm }
  const isScore = /^[0-9a-f]{64}$/i.test(name)
  print(
    await (isScore
      ? client.scores.credential(name, call)
      : client.candidates.credential(name, call)),
    options,
  )
  return 0
}

async function report(client: Client, source: string, options: Options): Promise<number> {
  const text = source === '-' ? await textOf(process.stdin) : readFile(source)
  const body = reportIn(text, source)
  const key = options['idempotency-key']
  const call = key === undefined ? {} : { idempotencyKey: key }
  print(await client.agentDecisions.report(body, call), options)
  return 0
}

function reportIn(text: string, source: string): ReportAgentDecisionRequest {
  try {
    return JSON.parse(text)
  } catch {
    const example = '{"subject":{"kind":"candidate","username":"ada"},"decision":"shortlisted"}'
    throw new UsageError(`${source} is not JSON. Give a report such as ${example}`)
  }
}

async function webhooks(words: readonly string[], options: Options): Promise<number> {
  const [verb, ...more] = words
  if (verb !== 'listen' && verb !== 'trigger')
    throw new UsageError('Give webhooks listen, or webhooks trigger TYPE.')
  const receiver = options['forward-to'] ?? ''
  if (!/^https?:/.test(receiver) || !URL.canParse(receiver))
    throw new UsageError('Give --forward-to and the receiver, as in http://localhost:3000/hook.')
  const settings = readSettings()
  const say: Say = (line, facts) =>
    process.stdout.write(`${options.json ? JSON.stringify(facts) : line}\n`)
  const receiving = { feed: `${settings.baseUrl} ${settings.apiKey}`, receiver, say }
  if (verb === 'listen' && more.length === 0)
    return listen({ ...receiving, client: clientOf(settings) }, options)
  const types = `Give one event type: ${eventTypes.join(', ')}.`
  if (verb === 'listen' || more.length !== 1) throw new UsageError(types)
  const isAccepted = await triggerEvent(String(more[0]), receiving)
  if (isAccepted === null) throw new UsageError(types)
  return isAccepted ? 0 : 1
}

async function listen(
  forwarding: Omit<Parameters<typeof forwardEvents>[0], 'signal'>,
  { after, since: text, types }: Options,
): Promise<number> {
  if (after !== undefined && text !== undefined) throw new UsageError('Give --after or --since.')
  const since = text === undefined ? undefined : new Date(text)
  if (Number.isNaN(since?.getTime()))
    throw new UsageError(`--since is ${text}. Give a time such as 2026-05-14T09:00:00Z.`)
  const ending = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => ending.abort())
  const { signal } = ending
  await forwardEvents({ ...forwarding, after, since, types: types?.split(','), signal })
  return 0
}

function completion(words: readonly string[], options: Options): number {
  const [shell = 'bash', ...more] = words
  const flags = [...help.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, flag = '']) => flag)
  const all = [...names, 'listen', 'trigger', ...eventTypes, ...flags].join(' ')
  const bash = `complete -o default -W '${all}' assay-client`
  const scripts: Record<string, string> = {
    bash,
    zsh: `autoload -U +X bashcompinit && bashcompinit\n${bash}`,
    fish: `complete -c assay-client -a '${all}'`,
  }
  const script = scripts[shell]
  if (script === undefined || more.length > 0) throw new UsageError('Give bash, zsh or fish.')
  process.stdout.write(`${options.json ? JSON.stringify({ shell, script }) : script}\n`)
  return 0
}

async function login(baseUrl: string, options: Options): Promise<number> {
  if (process.stdin.isTTY) process.stderr.write('Paste the API key, then Enter and Ctrl-D: ')
  const apiKey = (await textOf(process.stdin)).trim()
  const settings = { baseUrl, apiKey }
  await assertKeyWorks(clientOf(settings))
  const file = store('client.json', { ...readStored('client.json'), ...settings })
  process.stdout.write(options.json ? `${JSON.stringify({ file })}\n` : `Stored in ${file}.\n`)
  return 0
}

/** A key that lacks the scope of this call is known to the service all the same. */
async function assertKeyWorks(client: Client): Promise<void> {
  await client.webhooks.events({ limit: 1 }).catch((error: unknown) => {
    if (!(error instanceof PermissionError)) throw error
  })
}

async function whoami(client: Client, options: Options): Promise<number> {
  const { baseUrl, apiKey } = readSettings()
  if (apiKey !== undefined) await assertKeyWorks(client)
  const kind = apiKey?.startsWith('svc_test_') ? 'test' : 'live'
  print(
    {
      baseUrl,
      key: apiKey === undefined ? null : `${apiKey.slice(0, 13)}…`,
      kind: apiKey === undefined ? null : kind,
    },
    options,
  )
  return 0
}

function fail(error: unknown): number {
  const { message } = error instanceof Error ? error : new Error(String(error))
  const advice = error instanceof UsageError ? 'assay-client --help shows all commands.' : null
  const login = error instanceof AuthenticationError ? 'assay-client login URL stores a key.' : null
  const known = error instanceof AssayError ? error : { error: null, status: null, requestId: null }
  const docsUrl = error instanceof AssayError ? error.docsUrl : null
  const next = advice ?? login
  const { error: name, status, requestId } = known
  const facts = { error: name ?? 'failed', message, status, requestId, docsUrl, next }
  const lines = [`assay-client: ${message}`, docsUrl, next].filter((line) => line !== null)
  const isJson = process.argv.includes('--json')
  process.stderr.write(`${isJson ? JSON.stringify(facts) : lines.join('\n')}\n`)
  return 2
}

// A reader such as `head` may close standard output early, which is no failure.
process.stdout.on('error', (error) => {
  if ('code' in error && error.code === 'EPIPE') process.exit()
  process.stderr.write(`assay-client: standard output: ${error.message}\n`)
  process.exit(2)
})
process.exitCode = await run().catch(fail)
