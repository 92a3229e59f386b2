/** Pure: how a receiver verifies a delivery, in four languages. */
import { code } from '../components.ts'
import { type Html, html } from '../html.ts'

const node = `import { createHmac, timingSafeEqual } from 'node:crypto'

// body: the bytes as received · header: Service-Webhook-Signature
const [, t, v1] = /^t=(\\d+),v1=([0-9a-f]{64})$/.exec(header) ?? []
if (t === undefined || Math.abs(Date.now() / 1000 - Number(t)) > 300) throw new Error('not signed')
const expected = createHmac('sha256', secret).update(t + '.').update(body).digest()
if (!timingSafeEqual(expected, Buffer.from(v1, 'hex'))) throw new Error('not signed')
`

const python = `import hashlib, hmac, re, time

# body: the bytes as received · header: Service-Webhook-Signature
found = re.fullmatch(r"t=(\\d+),v1=([0-9a-f]{64})", header)
if not found or abs(time.time() - int(found[1])) > 300:
    raise ValueError("not signed")
expected = hmac.new(secret.encode(), found[1].encode() + b"." + body, hashlib.sha256)
if not hmac.compare_digest(expected.hexdigest(), found[2]):
    raise ValueError("not signed")
`

const ruby = `require 'openssl'

# body: the bytes as received · header: Service-Webhook-Signature
found = /\\At=(\\d+),v1=([0-9a-f]{64})\\z/.match(header)
raise 'not signed' unless found && (Time.now.to_i - found[1].to_i).abs <= 300
expected = OpenSSL::HMAC.hexdigest('SHA256', secret, "#{found[1]}.#{body}")
raise 'not signed' unless OpenSSL.fixed_length_secure_compare(expected, found[2])
`

const go = `// body: the bytes as received · header: Service-Webhook-Signature
found := regexp.MustCompile(\`^t=(\\d+),v1=([0-9a-f]{64})$\`).FindStringSubmatch(header)
if found == nil {
	return errors.New("not signed")
}
sent, _ := strconv.ParseInt(found[1], 10, 64)
if age := time.Now().Unix() - sent; age > 300 || age < -300 {
	return errors.New("not signed")
}
mac := hmac.New(sha256.New, []byte(secret))
mac.Write([]byte(found[1] + "."))
mac.Write(body)
received, _ := hex.DecodeString(found[2])
if !hmac.Equal(mac.Sum(nil), received) {
	return errors.New("not signed")
}
`

const languages = { 'Node.js': node, Python: python, Ruby: ruby, Go: go }

export const verifySnippets: Html = html`<div class="stack tight"><h2 class="small">Verify each delivery</h2>${Object.entries(
  languages,
).map(
  ([language, text]) =>
    html`<details class="fold inline"><summary>${language}</summary>${code({ id: `verify-${language.toLowerCase().replace('.', '')}`, label: `Verify with ${language}`, text })}</details>`,
)}</div>`
