import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../test/support/oracle/fc.ts'
import { attributes, Html, html, type Part, safeUrl } from './html.ts'
import { relativeTime } from './text.ts'

const naughty = [
  '<script>alert(1)</script>',
  '"><script>alert(1)</script>',
  "' onmouseover='alert(1)",
  '" onfocus="alert(1)" autofocus="',
  '</textarea><script>x</script>',
  '<!--',
  '-->',
  '<![CDATA[',
  '&lt;script&gt;',
  '&#x3c;script&#x3e;',
  'javascript:alert(1)',
  'jaVasCript:alert(1)',
  '\u0000<b>',
  '`${7*7}`',
  '{{7*7}}',
  '\u202egnp.exe',
  '﷽',
  '田中さんにあげて下さい',
  "'; drop table users; --",
  '../../etc/passwd',
  '%0d%0aSet-Cookie: a=b',
]

/** Returns the text that a browser reads, for the five escaped characters. */
function unescaped(text: string): string {
  const characters: Record<string, string> = { lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' }
  return text.replace(/&(lt|gt|quot|#39|amp);/g, (_, name: string) => characters[name] ?? '')
}

test('a browser reads every text and attribute value unchanged, and no value becomes markup', () => {
  const texts = fc.oneof(fc.constantFrom(...naughty), fc.string({ unit: 'binary' }))
  fc.assert(
    fc.property(texts, texts, (text: string, value: string) => {
      const page = html`<p title="${value}">${text}</p>`.text
      const [, title = '', body = ''] = /^<p title="([^"]*)">([^<]*)<\/p>$/s.exec(page) ?? []
      assert.equal(unescaped(title), value)
      assert.equal(unescaped(body), text)
      assert.ok(!/[<>"']/.test(body))
    }),
  )
})

test('lists and nested templates are escaped once; absent parts are nothing', () => {
  const list: Part[] = ['<b>', html`<i>${'&'}</i>`, 7, false, null, undefined, ['"']]
  assert.equal(html`<p>${list}</p>`.text, '<p>&lt;b&gt;<i>&amp;</i>7&quot;</p>')
  assert.equal(html`<p>costs $${5}</p>`.text, '<p>costs $5</p>')
  assert.throws(() => html`<p>${{} as never}</p>`, TypeError)
})

test('a URL in a link is a path of this service, http, https or mailto; any other URL becomes #', () => {
  for (const url of ['/', '/a?b=c#d', '#x', '?a=b', 'https://example.com/x', 'mailto:a@b.example'])
    assert.equal(safeUrl(url), url)
  for (const url of [
    ...naughty.filter((text) => !text.startsWith('#')),
    '//evil.example',
    '/\\evil.example',
    ' /x',
    'java\nscript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'blob:x',
    'file:///etc/passwd',
    'https:evil',
    '/a b',
    '/\t/evil.example',
    '',
  ])
    assert.equal(safeUrl(url), '#', JSON.stringify(url))
  assert.equal(html`<a href="${'javascript:alert(1)'}">x</a>`.text, '<a href="#">x</a>')
  assert.equal(html`<a href="/u/${'"><b>'}">x</a>`.text, '<a href="/u/&quot;&gt;&lt;b&gt;">x</a>')
})

test('a template throws if it has a value in a place where escaping does not help', () => {
  const x = 'x'
  for (const bad of [
    () => html`<script>${x}</script>`,
    () => html`<style>${x}</style>`,
    () => html`<!-- ${x} -->`,
    () => html`<p ${x}>`,
    () => html`<p title=${x}>`,
    () => html`<p title='${x}'>`,
    () => html`<p onclick="${x}">`,
    () => html`<p style="${x}">`,
    () => html`<iframe srcdoc="${x}">`,
    () => html`<${x}>`,
  ])
    assert.throws(bad, /^Error: a value/)
  assert.equal(
    html`<style>p{}</style><p>${new Html('<b>')}</p>`.text,
    '<style>p{}</style><p><b></p>',
  )
})

test('attributes are escaped, an absent one is left out, and a URL among them is a URL of a link', () => {
  const all = attributes({ id: '"><b>', hidden: true, title: undefined, required: false, max: 7 })
  assert.equal(html`<p${all}>x</p>`.text, '<p id="&quot;&gt;&lt;b&gt;" hidden max="7">x</p>')
  const link = attributes({ href: 'javascript:alert(1)' })
  assert.equal(html`<a class="${'b'}"${link}>x</a>`.text, '<a class="b" href="#">x</a>')
  for (const name of ['onclick', 'style', 'srcdoc', 'a b', '"', ''])
    assert.throws(() => attributes({ [name]: 'x' }), /not an attribute/)
  assert.throws(() => html`<p>${all}</p>`, /attributes that are not in a tag/)
  assert.throws(() => html`<p title="${all}">`, /attributes that are not in a tag/)
})

test('a time to come is the nearest length, and a past one is never longer than it is', () => {
  const now = new Date('2026-05-14T09:00:00Z')
  const at = (seconds: number) => relativeTime(new Date(now.getTime() + seconds * 1_000), now)
  assert.equal(at(7 * 86_400 - 1), 'in 7 days')
  assert.equal(at(3_599), 'in 1 h')
  assert.equal(at(90), 'in 2 min')
  assert.equal(at(-119), '1 min ago')
  assert.equal(at(-3 * 86_400 - 86_399), '3 days ago')
})
