/** A CurlExample is a curl command of a page, with the answer that it promises: `# → 200 a part of the body`. */
export interface CurlExample {
  readonly command: string
  readonly url: string
  readonly request: RequestInit
  readonly status: number
  /** What the answer contains. */
  readonly text: string
}

/**
 * curlExample reads a curl command of a page, for servers that run on other ports: `addresses` has where each port of the page
 * is found, as in `8080` → `http://127.0.0.1:34567`.
 */
export function curlExample(command: string, addresses: ReadonlyMap<string, string>, token = ''): CurlExample {
  const [, port = '', path = ''] = /localhost:(\d+)(\S*?)'?(?:\s|$)/.exec(command) ?? []
  const [, method] = /-X (\w+)/.exec(command) ?? []
  const [, body] = /--json '([^']*)'/.exec(command) ?? []
  const [, status = '', text = ''] = /# → (\d{3}) ?(.*)$/.exec(command) ?? []
  const headers = [...command.matchAll(/-H '([^:']+): ([^']*)'/g)].map(([, name, value]) => [name, value])
  const address = addresses.get(port)
  if (address === undefined) throw new Error(`nothing runs on port ${port}: ${command}`)
  return {
    command,
    url: address + path,
    request: {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: Object.fromEntries([
        ...headers.map(([name, value]) => [name, value.replace('TOKEN', token)]),
        ...(body === undefined ? [] : [['content-type', 'application/json']]),
      ]),
      ...(body !== undefined && { body }),
    },
    status: Number(status),
    text,
  }
}
