function utf8(text        )        {
return new TextEncoder().encode(text)
}
async function sha256(text        )                 {
return new Uint8Array(await crypto.subtle.digest('SHA-256', utf8(text)))
}
function hex(bytes       )         {
return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
function joined(parts                       )        {
const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
let at = 0
for (const part of parts) {
all.set(part, at)
at += part.length
}
return all
}
function base64UrlDecode(text        )               {
if (!/^([\w-]{4})*([\w-]{2,3})?$/.test(text)) return null
const decoded = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
const bytes = new Uint8Array(decoded.length)
for (let at = 0; at < bytes.length; at++) bytes[at] = decoded.charCodeAt(at)
return bytes
}
const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
function base58Decode(text        )               {
if (text.length > 128) return null
const bytes           = []
for (const character of text) {
let carry = alphabet.indexOf(character)
if (carry < 0) return null
for (let at = 0; at < bytes.length; at++) {
carry += (bytes[at]          ) * 58
bytes[at] = carry & 255
carry >>= 8
}
if (carry > 0) bytes.push(carry)
}
for (let at = 0; text[at] === '1'; at++) bytes.push(0)
return new Uint8Array(bytes.reverse())
}
async function inflate(
bytes       ,
format                        ,
bytesMax        ,
)                        {
const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream(format)).getReader()
const parts               = []
try {
for (let left = bytesMax; left >= 0; ) {
const { done, value } = await reader.read()
if (done) return joined(parts)
left -= value.length
parts.push(value)
}
} catch {
return null
}
await reader.cancel()
return null
}

function canonicalJson(value         )         {
if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null'
if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
const members = value
const parts = Object.keys(members)
.filter((name) => members[name] !== undefined)
.sort()
.map((name) => `${JSON.stringify(name)}:${canonicalJson(members[name])}`)
return `{${parts.join(',')}}`
}

const depthMax = 32
const membersMax = 10_000
function readStrictJson(text        )             {
let value          = JSON.parse(text)
let isAmbiguous = false
const tokens = text.match(/"[^"\\]*(?:\\.[^"\\]*)*"|[^\s",:[\]{}]+|[[\]{}]/g) ?? []
let at = 0
let depth = 0
let [members, items] = [0, 0]
try {
value = read()
} catch {
isAmbiguous = true
}
return { value, isAmbiguous: isAmbiguous || members > membersMax || items > membersMax }
function read()          {
const token = tokens[at++]
if (token !== '{' && token !== '[') return scalarOf(token)
if (++depth > depthMax) isAmbiguous = true
const all            = []
const named = new Map                  ()
while (!']}'.includes(tokens[at]          )) {
if (token === '[') {
items++
all.push(read())
continue
}
members++
const name = read()
if (named.has(name) || name === '__proto__') isAmbiguous = true
named.set(name, read())
}
at++
depth--
return token === '[' ? all : Object.fromEntries(named)
}
function scalarOf(token        )          {
const scalar          = JSON.parse(token)
if (typeof scalar === 'number' && !isExact(scalar, token)) isAmbiguous = true
if (typeof scalar === 'string' && (!scalar.isWellFormed() || scalar.includes('\0')))
isAmbiguous = true
return scalar
}
}
function isExact(number        , text        )          {
return keepsDigits(text) && Math.abs(number) < 2 ** 53
}
function keepsDigits(text        )          {
const [given = '', kept = ''] = [text, String(Number(text))].map((decimal) =>
decimal.replace(/e.*|[-.]/gi, '').replace(/^0+/, ''),
)
const length = Math.max(given.length, kept.length)
return given.padEnd(length, '0') === kept.padEnd(length, '0')
}


class KeyDocumentError extends Error {
name = 'KeyDocumentError'
constructor(name        ) {
super(`No sound Ed25519 key of a did:web issuer: ${name}`)
}
}
function isObject(value         )                {
return typeof value === 'object' && value !== null && !Array.isArray(value)
}
function readKeyDocument(document         )         {
const {
id: did,
issuer,
verificationMethod,
assertionMethod,
} = isObject(document) ? document : {}
const isDid = Array.isArray(verificationMethod)
const id = textOf(isDid ? did : issuer)
const keys = new Map                   ()
let refused = id
for (const method of [verificationMethod].flat().filter(isObject)) {
const { publicKeyMultibase, publicKeyBase64url, revoked } = method
const name = textOf(method.id)
const kid = name.slice(id.length + 2)
const bytes = name === `${id}#z${kid}` ? base58Decode(kid) : null
const publicKey = bytes?.slice(2) ?? new Uint8Array()
const isNamed = isDid
? publicKeyMultibase === `z${kid}`
: String(base64UrlDecode(textOf(publicKeyBase64url))) === String(publicKey)
if (!isNamed || String(bytes?.slice(0, 2)) !== '237,1' || !isSound(publicKey)) refused = name
else if (isDid && revoked !== undefined)
keys.set(name, { publicKey, revokedAt: Date.parse(textOf(revoked)) || 0 })
else if (!isDid || [assertionMethod].flat().includes(name))
keys.set(name, { publicKey, revokedAt: null })
}
if (keys.size === 0 || !/^did:web:[a-z0-9.-]+(%3A\d+)?$/i.test(id))
throw new KeyDocumentError(refused)
return { id, keys }
}
function textOf(value         )         {
return typeof value === 'string' ? value : ''
}
const fieldSize = 2n ** 255n - 19n
const order8 = 0x5fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n
function isSound(publicKey       )          {
const number = publicKey.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n)
const y = BigInt.asUintN(255, number)
return (
publicKey.length === 32 &&
y < fieldSize &&
![0n, 1n, order8, fieldSize - order8, fieldSize - 1n].includes(y)
)
}




const brand = 'Service'
const credentialType = `${brand}ScoreCredential`
const nativeProofType = `${brand}ScoreEd25519Signature2026`
function readProof(proof         , payload      , nativeContext         )                   {
if (!isObject(proof)) return null
const { proofValue, ...options } = proof
const { type, cryptosuite, created, verificationMethod } = options
const isNative = type === nativeProofType && cryptosuite === undefined
const isRdf = cryptosuite === 'eddsa-rdfc-2022'
const isW3c = type === 'DataIntegrityProof' && (isRdf || cryptosuite === 'eddsa-jcs-2022')
const canonicalOptions = canonicalJson(options)
const expected = {
type,
cryptosuite,
created,
verificationMethod,
proofPurpose: 'assertionMethod',
'@context': isNative ? nativeContext : isRdf ? undefined : payload['@context'],
}
return (isNative || isW3c) &&
[created, verificationMethod, proofValue].every((value) => typeof value === 'string') &&
canonicalOptions === canonicalJson(expected)
? ({
...proof,
form: isNative ? 'native' : cryptosuite,
canonicalOptions,
canonicalPayload: canonicalJson(payload),
}             )
: null
}
const skewMs = 300_000
async function signatureHolds(
{ created, proofValue, canonicalOptions, canonicalPayload }           ,
{ publicKey, revokedAt }           ,
)                   {
const at = Date.parse(created)
const isInTime = at >= -skewMs && (revokedAt === null || at <= revokedAt + skewMs)
const signature = proofValue[0] === 'z' ? base58Decode(proofValue.slice(1)) : null
if (!isInTime || signature?.length !== 64) return false
const digests = await Promise.all([canonicalOptions, canonicalPayload].map(sha256))
const key = await crypto.subtle.importKey('raw', publicKey, 'Ed25519', false, ['verify'])
return crypto.subtle.verify('Ed25519', key, signature, joined(digests))
}



const w3cContext = 'https://www.w3.org/ns/credentials/v2'
const text       = ['a string', (value) => typeof value === 'string']
const object       = ['an object', isObject]
const time       = ['a date-time with a time zone', isDateTime]
const points       = ['an integer from 0 to 1000', (value) => isCount(value, 1000)]
const count       = ['an integer of at least 0', (value) => isCount(value)]
const band       = [
'the name of a score band',
(value) => /^(emerging|developing|verified|strong|exceptional)$/.test(textOf(value)),
]
const times = namesOf('issuanceDate validFrom validUntil')
const subjectTexts = namesOf('id type engineId engineVersion engineBinarySha256')
const subjectPoints = namesOf('score confidenceLow confidenceHigh')
const statusTexts = namesOf('id type statusPurpose statusListIndex statusListCredential')
function namesOf(names        )                    {
return names.split(' ')
}
function structureError(
payload      ,
proof         ,
{ isContext, isOurs }             ,
)                {
const { '@context': context, type } = payload
if (
!Array.isArray(context) ||
context[0] !== w3cContext ||
(isContext && (context.length !== 2 || !isContext(context[1])))
)
return '@context must be the list of contexts that the credential was issued with.'
if (
!Array.isArray(type) ||
type[0] !== 'VerifiableCredential' ||
type[1] !== credentialType ||
(isOurs && type.length !== 2)
)
return `type must be ["VerifiableCredential", "${credentialType}"].`
if (typeof payload.issuer !== 'string') return 'issuer must be a string.'
if (!isObject(payload.credentialSubject)) return 'credentialSubject must be an object.'
const fault = wrong(payload, '', ['credentialStatus'], object) ?? wrong(payload, '', times, time)
if (fault !== null) return fault
if (proof === undefined) return 'proof is missing.'
return isOurs ? memberError(payload, proof) : null
}
function memberError(payload      , proof         )                {
const subject = payload.credentialSubject
const status = (payload.credentialStatus ?? {})
const inSubject = 'credentialSubject.'
return (
wrong(payload, '', ['id'], text) ??
wrong(subject, inSubject, subjectTexts, text) ??
wrong(subject, inSubject, subjectPoints, points) ??
wrong(subject, inSubject, ['evidenceCount'], count) ??
wrong(subject, inSubject, ['scoreBand'], band) ??
wrong(status, 'credentialStatus.', statusTexts, text) ??
(Number(subject.confidenceLow) > Number(subject.confidenceHigh)
? 'credentialSubject.confidenceLow must not be above confidenceHigh.'
: isObject(proof) && typeof proof.created === 'string'
? wrong(proof, 'proof.', ['created'], time)
: null)
)
}
function wrong(
node      ,
prefix        ,
names                   ,
[words, isRight]      ,
)                {
const name = names.find((one) => node[one] !== undefined && !isRight(node[one]))
return name === undefined ? null : `${prefix}${name} must be ${words}.`
}
function isCount(value         , max = Number.MAX_SAFE_INTEGER)          {
return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= max
}
function isDateTime(value         )          {
const [, day = ''] =
/^(\d{4}-\d{2}-\d{2})T(?:[01]\d|2[0-3]):\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/.exec(
textOf(value),
) ?? []
const isDay = day !== '' && (new Date(day).toJSON()?.startsWith(day) ?? false)
return isDay && !Number.isNaN(Date.parse(textOf(value)))
}





const listBytesMax = 2 ** 24
const listBytesMin = 16_384
async function askStatusLists(
lists                    ,
credential      ,
options            ,
)                      {
const entry = isObject(credential.credentialStatus) ? credential.credentialStatus : {}
const url = textOf(entry.statusListCredential)
const named = lists.filter(isObject).filter(({ id }) => id === url)
const answers = await Promise.all(
named.map((list) => askStatusList(list, entry, options).catch(() => 'list_invalid'         )),
)
return (
answers.find((answer) => typeof answer === 'object' && answer.isRevoked) ??
answers.find((answer) => typeof answer === 'object') ??
answers[0] ??
'list_missing'
)
}
async function askStatusList(
list      ,
entry      ,
{ issuer, now, nativeContext }            ,
)                      {
const { proof, ...payload } = list
const { '@context': context, type, credentialSubject: subject, validFrom, validUntil } = payload
const read = readProof(proof, payload, nativeContext)
if (read?.form === 'eddsa-rdfc-2022') return 'list_needs_rdf'
const key = issuer.keys.get(textOf(read?.verificationMethod))
if (
payload.issuer !== issuer.id ||
JSON.stringify(context) !== JSON.stringify([w3cContext]) ||
!Array.isArray(type) ||
!type.includes('BitstringStatusListCredential') ||
!isObject(subject) ||
entry.statusPurpose !== 'revocation' ||
subject.statusPurpose !== 'revocation' ||
read === null ||
(key && key.revokedAt !== null)
)
return 'list_invalid'
if (!key) return 'list_key_missing'
const bits = await signedBits(read, key, textOf(subject.encodedList))
const index = textOf(entry.statusListIndex)
const byte = /^\d{1,9}$/.test(index) ? bits?.[Number(index) >> 3] : undefined
if (bits === null || bits.length < listBytesMin || byte === undefined) return 'list_invalid'
if (
!(Date.parse(textOf(validFrom)) <= now + skewMs) ||
!(Date.parse(textOf(validUntil)) >= now - skewMs)
)
return 'list_not_current'
return {
isRevoked: (byte & (0x80 >> (Number(index) & 7))) !== 0,
url: list.id          ,
index: Number(index),
validFrom: textOf(validFrom),
length: bits.length * 8,
}
}
let last                                  = ['', null]
async function signedBits(read           , key           , encoded        )                        {
const name = read.proofValue + read.canonicalOptions + read.canonicalPayload
if (last[0] === name) return last[1]
const isSigned = encoded[0] === 'u' && (await signatureHolds(read, key))
const packed = isSigned ? base64UrlDecode(encoded.slice(1)) : null
const bits = packed && (await inflate(packed, 'gzip', listBytesMax))
last = [name, bits]
return bits
}








const reasons = [
'malformed_credential',
'ambiguous_json',
'unsupported_proof',
'issuer_mismatch',
'unknown_key',
'key_revoked',
'unsupported_form',
'signature_invalid',
'not_yet_valid',
'expired',
'revoked',
'status_unavailable',
]
async function verifyCredential(
document         ,
{ keyDocument, statusLists, now = new Date() }               ,
)                   {
const issuer = readKeyDocument(keyDocument)
const failures = new Set        ()
const found        = {
issuerMatch: false,
signatureValid: false,
revocation: { checked: false, revoked: false },
work: {},
}
const claims = await checkDocument(document, {
issuer,
statusLists,
now: now.getTime(),
failures,
found,
})
const reason = reasons.find((one) => failures.has(one))
const isGenuine = [...failures].every((one) => ofGenuine.test(one))
return {
valid: !reason,
...(reason && { reason }),
...found,
...(claims && isGenuine && { credential: claims }),
}
}
const ofGenuine = /^(not_yet_valid|expired|revoked|status_unavailable)$/
async function checkDocument(document         , checking          )                       {
const { issuer, statusLists, now, failures, found } = checking
const { work } = found
const presented = presentedOf(document, failures)
if (presented === null) return null
const { proof, ...payload } = presented
const isMatch = payload.issuer === issuer.id
found.issuerMatch = isMatch
const host = issuer.id.slice('did:web:'.length).replace('%3A', ':')
const error = structureError(payload, proof, {
isContext: isMatch
? (url) => textOf(url).replace(/^https?/, '') === `://${host}/standard/v1/context.jsonld`
: undefined,
isOurs: isMatch && failures.size === 0,
})
if (error !== null) failures.add('malformed_credential')
if (failures.size > 0) return null
if (!isMatch) failures.add('issuer_mismatch')
checkValidity(payload, now, failures)
const read = readProof(proof, payload)
if (read === null) failures.add('unsupported_proof')
if (read === null || !(await checkProof(read, checking))) return null
found.signatureValid = true
const answer = await askStatusLists(statusLists, presented, {
issuer,
now,
nativeContext: (payload['@context']            )[1]          ,
})
if (typeof answer === 'string') {
failures.add('status_unavailable')
found.listFault = answer
} else {
work.list = answer
found.revocation = { checked: true, revoked: answer.isRevoked }
if (answer.isRevoked) failures.add('revoked')
}
return claimsOf(payload, read)
}
const documentBytesMax = 262_144
function presentedOf(document         , failures             )              {
try {
const text = typeof document === 'string' ? document : JSON.stringify(document)
const { value, isAmbiguous } = readStrictJson(utf8(text).length > documentBytesMax ? '' : text)
if (isAmbiguous) failures.add('ambiguous_json')
if (isObject(value)) return value
} catch {}
failures.add('malformed_credential')
return null
}
function checkValidity(
{ validFrom, issuanceDate, validUntil }      ,
now        ,
failures             ,
)       {
for (const from of [validFrom, issuanceDate])
if (Date.parse(textOf(from)) > now + skewMs) failures.add('not_yet_valid')
if (Date.parse(textOf(validUntil)) < now - skewMs) failures.add('expired')
}
async function checkProof(
read           ,
{ issuer, failures, found: { work, issuerMatch } }          ,
)                   {
work.canonicalPayload = read.canonicalPayload
if (!issuerMatch) return false
const key = issuer.keys.get(read.verificationMethod)
if (key && key.revokedAt !== null) failures.add('key_revoked')
const reason =
key === undefined
? 'unknown_key'
: read.form === 'eddsa-rdfc-2022'
? 'unsupported_form'
: (await signatureHolds(read, key)) || 'signature_invalid'
if (reason !== true) failures.add(reason)
return reason === true
}
const claims =
'scoreBand engineId engineVersion engineBinarySha256 score confidenceLow confidenceHigh'
function claimsOf({ issuer, validFrom, credentialSubject }      , proof           )       {
const subject = credentialSubject
const named = Object.fromEntries(claims.split(' ').map((name) => [name, subject[name]]))
const { verificationMethod } = proof
return { issuer, subject: subject.id, issuedAt: validFrom, ...named, verificationMethod }
}

const badgeBytesMax = 1_048_576
const inputProblems = {
pdf: 'A PDF cannot be checked. Scan its QR code.',
picture: 'This picture holds no credential. Its address leads to one: paste the link.',
link: 'The link holds no credential: it is cut off, damaged, or unpacks to over 262,144 bytes.',
tooLong: (bytes        ) =>
`The document has ${bytes.toLocaleString('en-US')} bytes. A credential has at most 262,144.`,
}
const keyword = 'openbadgecredential'
function readBadge(bytes            )            {
if (startsWith(bytes, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])) return inPng(bytes)
if (startsWith(bytes, [0xff, 0xd8, 0xff]) || startsWith(bytes, [0x47, 0x49, 0x46]))
return { kind: 'picture' }
const start = new TextDecoder().decode(bytes.subarray(0, 2_048))
return /^\s*</.test(start) && start.includes('<svg')
? inSvg(new TextDecoder().decode(bytes))
: { kind: 'other' }
}
function inSvg(text        )            {
const [, prefix = ''] = /xmlns:(\w+)="https:\/\/purl\.imsglobal\.org\/ob\/v3p0"/.exec(text) ?? []
const open = prefix === '' ? -1 : text.indexOf(`<${prefix}:credential`)
if (open === -1) return { kind: 'picture' }
const end = text.indexOf(`</${prefix}:credential`, open)
const inner = text.slice(text.indexOf('>', open) + 1, end === -1 ? open : end)
const credential = inner.replace(/^\s*<!\[CDATA\[|\]\]>\s*$/g, '').trim()
return credential.startsWith('{') ? { kind: 'credential', text: credential } : { kind: 'picture' }
}
function inPng(bytes            )            {
const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
for (let at = 8; at + 12 <= bytes.length; ) {
const end = at + 8 + view.getUint32(at)
if (end > bytes.length) break
const name = new TextDecoder().decode(bytes.subarray(at + 4, at + 8))
if (name === 'iTXt') {
const [key = '', ...parts] = new TextDecoder().decode(bytes.subarray(at + 8, end)).split('\0')
const text = parts.slice(4).join('\0')
if (key === keyword && text.startsWith('{')) return { kind: 'credential', text }
}
at = end + 4
}
return { kind: 'picture' }
}
function startsWith(bytes            , start                   )          {
return start.every((byte, i) => bytes[i] === byte)
}

const notCompared = new Set([
'malformed_credential',
'ambiguous_json',
'unsupported_proof',
'unsupported_form',
'issuer_mismatch',
])
const inconclusive = new Set(['status_unavailable', 'unsupported_form'])
function rowsOf({ valid, reason = '', ...checked }         )       {
const { issuerMatch, signatureValid, revocation } = checked
const isRead = reason !== 'malformed_credential' && reason !== 'ambiguous_json'
const isProven = signatureValid && reason !== 'key_revoked' && !notCompared.has(reason)
const signature = isProven ? 'passed' : notCompared.has(reason) ? 'unknown' : 'failed'
const unproven = inconclusive.has(reason) || !issuerMatch || !isRead ? 'unknown' : 'nothing'
const status = revocation.checked ? (revocation.revoked ? 'failed' : 'passed') : 'unknown'
return {
issuer: isProven ? 'passed' : isRead && !issuerMatch ? 'failed' : unproven,
signature,
revocation: isProven ? (reason === 'status_unknown' ? 'failed' : status) : unproven,
verdict: valid ? 'passed' : inconclusive.has(reason) ? 'unknown' : 'failed',
}
}
const ofRegistry = new Set(['status_unknown', 'status_unavailable', 'revoked', 'key_revoked'])
function compare(service         , browser         )                                 {
if (inconclusive.has(browser.reason ?? '')) return 'alone'
if (service.valid === browser.valid) return 'agree'
return browser.valid && ofRegistry.has(service.reason ?? '') ? 'alone' : 'disagree'
}





function find(selector        )                     {
return document.querySelector             (selector)
}
function inputField()                             {
return document.querySelector                     ('#document')
}
function say(text        )       {
const problem = find('#input-problem')
if (problem === null) return
problem.textContent = text
problem.hidden = text === ''
if (text !== '') problem.focus()
}
function addressOf({ pathname, search, hash }          )         {
return pathname + search + (/^#(z=|local$)/.test(hash) ? hash : '')
}
let shown = ''
let asked
function ask(url        , input         )                                 {
asked?.abort()
return new Promise((resolve) => {
const call = new XMLHttpRequest()
asked = call
call.open(input === undefined ? 'GET' : 'POST', url)
call.responseType = 'document'
call.setRequestHeader('Accept', 'text/html')
call.addEventListener('load', () => resolve(call.response === null ? null : call))
call.addEventListener('error', () => resolve(null))
if (input === undefined) call.send()
else call.send(new URLSearchParams({ document: input }))
})
}
function showPage(page          )       {
for (const part of ['main', '[data-icons]']) {
const next = page.querySelector(part)
if (next !== null) document.querySelector(part)?.replaceWith(document.adoptNode(next))
}
document.title = page.title
document.dispatchEvent(new Event('page-shown'))
scrollTo(0, 0)
find('#verdict-title, #input-problem:not([hidden])')?.focus()
start()
}
async function check(text        , isNew = true)                {
const { length } = new TextEncoder().encode(text)
if (length > documentBytesMax) {
say(inputProblems.tooLong(length))
return
}
say('')
const call = await ask('/verify', text)
if (call === null) {
say('The service does not answer. Try again.')
return
}
const page = call.response
if (isNew) remember(new URL(call.responseURL), page, text)
showPage(page)
const field = inputField()
if (field !== null && call.status >= 400 && field.value === '') field.value = text
}
function remember(url     , page          , text        )       {
const link = page.querySelector('[data-document-link]')?.textContent ?? ''
if (url.searchParams.has('of')) history.pushState(null, '', url)
else if (page.querySelector('[data-verdict]') === null) return
else if (link === '') history.pushState({ text }, '', '/verify#local')
else history.pushState(null, '', `/verify${link.slice(link.indexOf('#'))}`)
shown = addressOf(location)
}
async function checkFile(file      )                {
if (file.size > badgeBytesMax) {
say(
`${file.name} has ${file.size.toLocaleString('en-US')} bytes. A credential has at most 262,144, a picture 1,048,576.`,
)
return
}
const bytes = new Uint8Array(await file.arrayBuffer())
const badge = readBadge(bytes)
if (badge.kind === 'credential') return check(badge.text)
if (badge.kind === 'picture') return say(inputProblems.picture)
try {
const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
if (text.startsWith('%PDF-')) return say(inputProblems.pdf)
if (text.includes('\0')) throw new TypeError('binary')
await check(text)
} catch {
say(`${file.name} is not a text file. Choose the JSON file of a credential.`)
}
}
async function checkLink(link        )                {
const packed = base64UrlDecode(link.slice(link.indexOf('#z=') + 3))
const bytes = packed === null ? null : await inflate(packed, 'deflate-raw', documentBytesMax)
if (bytes === null) say(inputProblems.link)
else await check(new TextDecoder().decode(bytes), false)
}
async function openCamera()                {
const box = find('#camera')
if (box === null) return
const { scan } = await import('./camera.ts')
try {
const text = await scan(box)
if (text !== null) await check(text)
} catch {
say('The camera cannot be used. Allow it for this page, or paste the credential.')
}
}
document.addEventListener('change', ({ target }) => {
if (!(target instanceof HTMLInputElement) || target.id !== 'file') return
const file = target.files?.[0]
if (file !== undefined) void checkFile(file)
})
document.addEventListener('click', ({ target }) => {
if (!(target instanceof Element)) return
if (target.closest('#scan') !== null) void openCamera()
if (target.closest('[data-print]') !== null) print()
})
document.addEventListener('dragover', (event) => event.preventDefault())
document.addEventListener('drop', (event) => {
event.preventDefault()
const file = event.dataTransfer?.files[0]
const text = event.dataTransfer?.getData('text')
if (file !== undefined) void checkFile(file)
else if (text) void check(text)
})
document.addEventListener(
'submit',
(event) => {
if (!(event.target instanceof HTMLFormElement) || event.target.id !== 'check') return
event.preventDefault()
void check(inputField()?.value ?? '')
},
true,
)
async function follow(isFirst         )                {
const address = addressOf(location)
if (address === shown || (location.hash !== '' && !address.includes('#') && !isFirst)) return
shown = address
const { text } = (history.state ?? {})
if (location.hash.startsWith('#z=')) await checkLink(location.hash)
else if (location.hash === '#local' && text !== undefined) await check(text, false)
else if (!isFirst) {
const call = await ask(address)
if (call !== null) showPage(call.response            )
}
}
addEventListener('popstate', () => void follow(false))
start()
void follow(true)
function start()       {
for (const element of document.querySelectorAll             ('[data-needs-script]'))
element.hidden = false
const box = find('[data-verdict]')
if (box !== null) void checkShown(box)
}
async function checkShown(box             )                {
const text = document.querySelector('#presented')?.textContent ?? ''
const started = performance.now()
const verdict = await checkInBrowser(text)
const ms = Math.round(performance.now() - started)
if (verdict === null) {
for (const row of ['issuer', 'signature', 'revocation', 'verdict']) show(row, 'unknown')
tell('This browser could not check: it reached no key, or cannot verify Ed25519.')
box.dataset.browser = 'none'
return
}
const service = JSON.parse(box.dataset.verdict ?? '{}')
const rows = rowsOf(verdict)
for (const [row, state] of Object.entries(rows)) show(row, state)
note('verdict', verdict.reason === 'unsupported_form' ? 'Service only' : `${ms} ms`)
if (verdict.work.list !== undefined) note('revocation', 'Signed list')
showWork(verdict)
const outcome = compare(service, verdict)
if (outcome === 'agree') tell('The service and this browser agree.')
else if (verdict.reason === 'unsupported_form')
tell('Only the service checked: this form of proof needs the service.')
else if (outcome === 'alone')
tell('Only the service could complete the check: its registry is newer than the signed list.')
else showDisagreement(box)
box.dataset.outcome = outcome
box.dataset.browser = verdict.reason ?? 'valid'
}
async function checkInBrowser(text        )                          {
try {
const keyDocument = await fetchJson(keysPathFor(text))
const first = await verifyCredential(text, { keyDocument, statusLists: [] })
const list = listUrlIn(text)
if (!first.issuerMatch || list === null) return first
const statusLists = [await fetchJson(list).catch(() => null)]
return await verifyCredential(text, { keyDocument, statusLists })
} catch {
return null
}
}
function keysPathFor(text        )         {
const issuers = find('#check')?.dataset.issuers?.split(' ') ?? []
const issuer = issuers.find((one) => one === issuerIn(text)) ?? issuers[0] ?? ''
return `/verify/issuers/${issuer.replace('did:web:', '')}/did.json`
}
function issuerIn(text        )          {
try {
return JSON.parse(text).issuer
} catch {
return undefined
}
}
async function fetchJson(url        )                   {
const response = await fetch(url, { cache: 'no-cache', headers: { Accept: 'application/json' } })
if (!response.ok) throw new Error(String(response.status))
return response.json()
}
function listUrlIn(text        )                {
const prefix = '/standard/v1/status-lists/score-vc-revocation/'
const id = new RegExp(`"https?://[^"/]+${prefix}([a-z2-7]{10})"`).exec(text)?.[1]
return id === undefined ? null : `${prefix}${id}?proof=eddsa-jcs-2022`
}
function show(row        , state        )       {
for (const mark of document.querySelectorAll             (`[data-row="${row}"] [data-state]`))
mark.hidden = mark.dataset.state !== state
}
function note(row        , text        )       {
const element = document.querySelector(`[data-row="${row}"] [data-note]`)
if (element !== null) element.textContent = text
}
function tell(text        )       {
const element = document.querySelector('[data-agreement]')
if (element !== null) element.textContent = text
}
function showDisagreement(box             )       {
box.dataset.tone = 'negative'
for (const [selector, text] of [
['#verdict-title', 'Service and browser disagree'],
[
'[data-sentence]',
'Do not rely on this credential. Compare both columns, and ask the issuer.',
],
['[data-agreement]', ''],
]         ) {
const element = document.querySelector(selector)
if (element !== null) element.textContent = text
}
for (const element of box.querySelectorAll             ('[data-facts]')) element.hidden = true
for (const seal of box.querySelectorAll             ('[data-seal]'))
seal.hidden = seal.dataset.seal !== 'negative'
}
function showWork({ work: { list } }         )       {
const step = document.querySelector             ('#list-step')
if (step === null || list === undefined) return
step.hidden = false
const texts = {
sentence: `Bit ${list.index.toLocaleString('en-US')} of the signed list is ${list.isRevoked ? 1 : 0}. A 1 means revoked.`,
url: list.url,
published: list.validFrom,
entries: list.length.toLocaleString('en-US'),
}
for (const [name, text] of Object.entries(texts)) {
const element = step.querySelector(`[data-list="${name}"]`)
if (element !== null) element.textContent = text
}
}
