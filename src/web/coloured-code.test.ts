import assert from 'node:assert/strict'
import { test } from 'node:test'
import { colouredCode } from './coloured-code.ts'
import { html } from './html.ts'

/** The code with the class of each token before it: `k:export`. */
function marked(code: string, language: string): string {
  const { text } = html`${colouredCode(code, language)}`
  return text.replaceAll(/<span class="tok-(.)">(.*?)<\/span>/gs, '$1:$2')
}

const cases: Record<string, [language: string, code: string, marked: string]> = {
  'a key and a text of JSON differ': [
    'json',
    '{"a": ["b", -1.5, true]}',
    '{p:&quot;a&quot;: [s:&quot;b&quot;, n:-1.5, k:true]}',
  ],
  'a command, its options and a comment': [
    'sh',
    "# Why\nexport A=$(cat file)\ncurl -sS '$A/b' \\\n  --json x | jq .id",
    'c:# Why\nk:export A=$(p:cat file)\np:curl s:-sS s:&#39;$A/b&#39; \\\n  s:--json x | p:jq .id',
  ],
  'a text behind << has no commands': [
    'sh',
    "cat <<'END'\nls -l\nEND",
    'p:cat s:&lt;&lt;&#39;END&#39;\nls -l\nEND',
  ],
  'a call, a text and a number of TypeScript': [
    'ts',
    'const a = f(`b`, 1) // c',
    'k:const a = p:f(s:`b`, n:1) c:// c',
  ],
  'a string of Python': [
    'python',
    'print(f"a", None) # c',
    'p:print(s:f&quot;a&quot;, k:None) c:# c',
  ],
  'a statement of SQL': ['sql', "drop table x -- 'c'", 'k:drop k:table x c:-- &#39;c&#39;'],
  'another language has no colours': ['text', 'export "a" <b>', 'export &quot;a&quot; &lt;b&gt;'],
}

for (const [title, [language, code, expected]] of Object.entries(cases))
  test(`code: ${title}`, () => {
    assert.equal(marked(code, language), expected)
  })
