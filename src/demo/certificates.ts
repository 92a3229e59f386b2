/**
 * Creates X.509 certificates in memory for servers on this machine: a certificate authority and
 * the server certificates that it signs. Encodes only the DER types that these certificates need.
 */
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

export interface ServerCertificate {
  cert: string
  key: string
}

export interface Authority {
  /** The authority's certificate in PEM, for clients to trust. */
  cert: string
  /** Creates a certificate for DNS names and IPv4 addresses. */
  certify(...names: string[]): ServerCertificate
}

export function createAuthority(): Authority {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const own = { subject: 'Test authority', issuer: 'Test authority', publicKey: keys.publicKey }
  const isAuthority = extension('551d13', sequence(der(0x01, Buffer.of(0xff))))
  const cert = certificate({ ...own, extensions: [isAuthority], signer: keys.privateKey })
  return {
    cert,
    certify(...names) {
      const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      const issued = certificate({
        subject: names[0] ?? '',
        issuer: 'Test authority',
        publicKey,
        extensions: [extension('551d11', sequence(...names.map(generalName)))],
        signer: keys.privateKey,
      })
      return { cert: issued, key: String(privateKey.export({ type: 'pkcs8', format: 'pem' })) }
    },
  }
}

interface Contents {
  subject: string
  issuer: string
  publicKey: KeyObject
  extensions: Buffer[]
  signer: KeyObject
}

function certificate({ subject, issuer, publicKey, extensions, signer }: Contents): string {
  const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'))
  const body = sequence(
    der(0xa0, integer(2)),
    der(0x02, Buffer.concat([Buffer.of(1), randomBytes(8)])),
    ecdsaWithSha256,
    name(issuer),
    sequence(utcTime('200101000000Z'), utcTime('490101000000Z')),
    name(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  )
  const whole = sequence(body, ecdsaWithSha256, bits(sign('sha256', body, signer)))
  const lines = whole.toString('base64').replace(/.{1,64}/g, '$&\n')
  return `-----BEGIN CERTIFICATE-----\n${lines}-----END CERTIFICATE-----\n`
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content
  const size =
    length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.of(tag, ...size), content])
}

const sequence = (...parts: Buffer[]): Buffer => der(0x30, Buffer.concat(parts))
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'))
const integer = (value: number): Buffer => der(0x02, Buffer.of(value))
const bits = (content: Buffer): Buffer => der(0x03, Buffer.concat([Buffer.of(0), content]))
const utcTime = (text: string): Buffer => der(0x17, Buffer.from(text))

function name(common: string): Buffer {
  return sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(common)))))
}

function extension(id: string, value: Buffer): Buffer {
  return sequence(oid(id), der(0x04, value))
}

function generalName(text: string): Buffer {
  const parts = text.split('.').map(Number)
  const isAddress = parts.length === 4 && parts.every((part) => part >= 0 && part <= 255)
  return isAddress ? der(0x87, Buffer.from(parts)) : der(0x82, Buffer.from(text))
}
