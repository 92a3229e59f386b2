/**
 * Asks for a page of the service. As a document it needs no HTML text, which Trusted Types forbid.
 * Returns null without an answer. `asked` gets the call, which can be aborted.
 */
export function askForPage(
  url: string,
  { input, asked }: { input?: string; asked?(call: XMLHttpRequest): void } = {},
): Promise<XMLHttpRequest | null> {
  return new Promise((resolve) => {
    const call = new XMLHttpRequest()
    asked?.(call)
    call.open(input === undefined ? 'GET' : 'POST', url)
    call.responseType = 'document'
    call.setRequestHeader('Accept', 'text/html')
    call.addEventListener('load', () => resolve(call.response === null ? null : call))
    call.addEventListener('error', () => resolve(null))
    if (input === undefined) call.send()
    else call.send(new URLSearchParams({ document: input }))
  })
}
