/** Tests as tables which URLs are accepted as text, and which addresses may be dialled. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../../test/support/oracle/fc.ts'
import { parseAddress } from '../networks.ts'
import { mayDial, operatorRules, strangerRules, vetUrl } from './rules.ts'

const strangers = strangerRules()

/** Returns a host name of this many characters. */
function longHost(length: number): string {
  const labels = `${'a'.repeat(49)}.`.repeat(Math.ceil(length / 50))
  return `${labels.slice(0, length - 4).replace(/\.$/, 'a')}.com`
}

const refusedUrls = [
  // Other spellings of 127.0.0.1 and similar addresses.
  'https://127.0.0.1/',
  'https://0x7f.1/',
  'https://2130706433/',
  'https://017700000001/',
  'https://127.1/',
  'https://127.0.0.1./',
  'https://１２７.０.０.１/',
  'https://①②⑦.⓪.⓪.①/',
  'https://%31%32%37.0.0.1/',
  'https://0/',
  'https://0.0.0.0/',
  'https://[::1]/',
  'https://[::]/',
  'https://[::ffff:7f00:1]/',
  'https://[::ffff:127.0.0.1]/',
  'https://[::127.0.0.1]/',
  'https://[::7f00:1]/',
  'https://[64:ff9b::7f00:1]/',
  'https://[2002:7f00:1::]/',
  'https://[fe80::1]/',
  'https://[fd00:ec2::254]/',
  'https://169.254.169.254/latest/meta-data/',
  // A public address, but only names are accepted.
  'https://93.184.215.14/',
  'https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/',
  // Names of a private network.
  'https://localhost/',
  'https://localhost./',
  'https://LOCALHOST/',
  'https://api.localhost/',
  'https://printer.local/',
  'https://metadata.google.internal/',
  'https://router.home.arpa/',
  // Special-use names.
  'https://hooks.test/',
  'https://test/',
  'https://HOOKS.Example.TEST/',
  'https://hooks.invalid/',
  'https://hooks.alt/',
  `https://${'a'.repeat(56)}.onion/`,
  'https://1.0.0.10.in-addr.arpa/',
  'https://ipv4only.arpa/',
  // Malformed host names.
  'https://-hooks.example.com/',
  'https://hooks-.example.com/',
  'https://my_hooks.example.com/',
  'https://hooks!.example.com/',
  'https://hooks.example.com,evil.example/',
  `https://${longHost(254)}/`,
  `https://${longHost(2_000)}/`,
  'https://intranet/',
  'https://example.com./',
  'https://./',
  'https://..com/',
  'https://example..com/',
  `https://${'a'.repeat(64)}.com/`,
  'https://exämple.com/',
  'https://ｅxample.com/',
  'https://example。com/',
  // URLs that look like another URL.
  'https://user@127.0.0.1/',
  'https://user@example.com/',
  'https://user:secret@example.com/',
  'https://@example.com/',
  'https://example.com@evil.example/',
  'https://example.com/#fragment',
  'https://example.com/#',
  'https:\\\\example.com\\',
  'https:/example.com/',
  'https:example.com',
  'https:///example.com/',
  'https://example.com\\@evil.example/',
  'https://exam\tple.com/',
  'https://example.com/\n',
  ' https://example.com/',
  'https://example.com/ ',
  'https://example.com/a b',
  'https://example.com/\u0000',
  'https://example.com/\u00a0',
  'https://example.com/\u2028',
  'HTTPS://example.com/',
  'http://example.com/',
  'ftp://example.com/',
  'file:///etc/passwd',
  'javascript:alert(1)',
  '//example.com/',
  'https://',
  'https://?',
  '',
  // Ports.
  'https://example.com:0/',
  'https://example.com:80/',
  'https://example.com:8443/',
  'https://example.com:22/',
  'https://example.com:65536/',
  'https://example.com:-1/',
]

for (const url of refusedUrls) {
  test(`a URL is refused as text: ${JSON.stringify(url)}`, () => {
    const vetted = vetUrl(url, strangers)
    assert.ok('fault' in vetted, `it is taken as ${'url' in vetted ? vetted.url.href : ''}`)
    assert.match(vetted.fault, /^(must|is not)/)
  })
}

const takenUrls = {
  'https://example.com': 'https://example.com/',
  'https://example.com/': 'https://example.com/',
  'https://Example.COM/Hook': 'https://example.com/Hook',
  'https://example.com:443/hook': 'https://example.com/hook',
  'https://hooks.example.co.uk/a/b%20c?key=value&x=%23':
    'https://hooks.example.co.uk/a/b%20c?key=value&x=%23',
  'https://xn--bcher-kva.example/': 'https://xn--bcher-kva.example/',
  [`https://${'a'.repeat(63)}.com`]: `https://${'a'.repeat(63)}.com/`,
  [`https://${longHost(253)}`]: `https://${longHost(253)}/`,
  'https://latest.example.com': 'https://latest.example.com/',
  'https://test.example.com': 'https://test.example.com/',
  'https://hooks.contest': 'https://hooks.contest/',
  'https://a--b.1-2.example.com': 'https://a--b.1-2.example.com/',
  'https://a-b.example.com/user@host': 'https://a-b.example.com/user@host',
}

for (const [text, href] of Object.entries(takenUrls)) {
  test(`a URL is accepted: ${text}`, () => {
    const vetted = vetUrl(text, strangers)
    assert.ok('url' in vetted, 'fault' in vetted ? vetted.fault : '')
    assert.equal(vetted.url.href, href)
  })
}

test('the operator can allow other ports and http', () => {
  const wide = strangerRules({ ports: [443, 8443], allowHttp: true })
  assert.ok('url' in vetUrl('https://example.com:8443/', wide))
  assert.ok('fault' in vetUrl('http://example.com/', wide))
  assert.ok('url' in vetUrl('http://example.com:8443/', wide))
})

test('a deployment with WEBHOOK_ALLOW_CIDRS accepts names and addresses of those networks, and no other address', () => {
  const lan = strangerRules({ allowCidrs: ['10.0.0.0/8'], ports: 'any' })
  assert.ok('url' in vetUrl('https://10.1.2.3:8443/', lan))
  for (const host of ['intranet', 'hooks.test', 'printer.local', 'router.home.arpa'])
    assert.ok('url' in vetUrl(`https://${host}/`, lan), host)
  for (const host of ['hooks.onion', 'hooks.invalid', 'hooks.alt', 'my_hooks', longHost(254)])
    assert.ok('fault' in vetUrl(`https://${host}/`, lan), host)
  assert.ok('fault' in vetUrl('https://11.1.2.3/', lan))
  assert.ok('fault' in vetUrl('https://127.0.0.1/', lan))
})

test('URLs from the settings may name any host over http or https', () => {
  for (const url of ['http://127.0.0.1:8545/', 'http://localhost:3000/x', 'https://[::1]/'])
    assert.ok('url' in vetUrl(url, operatorRules), url)
  for (const url of ['ftp://example.com/', 'http://exa mple.com/', 'http://', 'nonsense'])
    assert.ok('fault' in vetUrl(url, operatorRules), url)
})

const blockedAddresses = `
  0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.254 127.0.0.1 127.255.255.254
  169.254.0.1 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.8 192.0.0.170 192.0.2.1
  192.88.99.1 192.168.0.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1
  239.255.255.255 240.0.0.1 255.255.255.255 168.63.129.16
  :: ::1 ::7f00:1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:10.0.0.1 ::ffff:0:127.0.0.1
  ::ffff:168.63.129.16 64:ff9b::7f00:1 64:ff9b:1::1 100::1 2001::1 2001:db8::1 2002:7f00:1::
  3fff::1 5f00::1 fc00::1 fd00:ec2::254 fe80::1 fec0::1 ff02::1 4000::1`
  .trim()
  .split(/\s+/)

for (const text of blockedAddresses) {
  test(`an address is blocked: ${text}`, () => {
    const address = parseAddress(text)
    assert.ok(address === null || !mayDial(address, strangers))
    const host = text.includes(':') ? `[${text}]` : text
    assert.ok('fault' in vetUrl(`https://${host}/`, strangers), 'as text it is refused as well')
  })
}

for (const text of ['93.184.215.14', '1.1.1.1', '172.15.0.1', '172.32.0.1', '2606:4700::1111']) {
  test(`an address is dialled: ${text}`, () => {
    const address = parseAddress(text)
    assert.ok(address !== null && mayDial(address, strangers))
  })
}

test('a denied network stays blocked even if it is also allowed', () => {
  const rules = strangerRules({ allowCidrs: ['10.0.0.0/8'], denyCidrs: ['10.9.0.0/16', '1.1.1.1'] })
  const may = (text: string) => {
    const address = parseAddress(text)
    return address !== null && mayDial(address, rules)
  }
  assert.deepEqual(
    ['10.8.0.1', '10.9.0.1', '1.1.1.1', '::ffff:10.9.0.1', '1.0.0.1', '127.0.0.1'].map(may),
    [true, false, false, false, true, false],
  )
})

test('no IPv6 address outside 2000::/3 is ever dialled', () => {
  const words = fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 })
  fc.assert(
    fc.property(words, (parts) => {
      const address = parseAddress(parts.map((part) => part.toString(16)).join(':'))
      if (address === null || address.kind() === 'ipv4') return
      if (mayDial(address, strangers)) assert.equal((parts[0] as number) >> 13, 1)
    }),
    { numRuns: 2_000 },
  )
})

test('a malformed network stops the start', () => {
  assert.throws(() => strangerRules({ allowCidrs: ['10.0.0.0/33'] }), /10\.0\.0\.0\/33/)
  assert.throws(() => strangerRules({ denyCidrs: ['example.com'] }), /example\.com/)
})
