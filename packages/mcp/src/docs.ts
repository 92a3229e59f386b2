/** The documentation of the service, which names its pages in /llms.txt. */

export interface DocsPage {
  name: string
  title: string
  path: string
}

const timeoutMs = 10_000
const maxBytes = 1024 * 1024

export async function docsPages(baseUrl: string): Promise<DocsPage[]> {
  const index = await read(baseUrl, '/llms.txt')
  const pages = new Map<string, DocsPage>()
  for (const [, title = '', url = ''] of index.matchAll(/\[([^\]]+)\]\(([^)\s]+\.md)\)/g)) {
    const { pathname } = new URL(url, baseUrl)
    const [, name] = /^\/docs\/([\w/-]+)\.md$/.exec(pathname) ?? []
    if (name !== undefined) pages.set(name, { name, title, path: pathname })
  }
  return [...pages.values()]
}

export function readPage(baseUrl: string, { path }: DocsPage): Promise<string> {
  return read(baseUrl, path)
}

async function read(baseUrl: string, path: string): Promise<string> {
  const response = await fetch(`${baseUrl}${path}`, {
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs),
  })
  if (!response.ok) throw new Error(`${path} answered with ${response.status}.`)
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length > maxBytes) throw new Error(`${path} is longer than ${maxBytes} bytes.`)
  }
  return text + decoder.decode()
}
