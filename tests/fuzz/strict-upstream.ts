import { createHash } from 'node:crypto'
import { createServer, type Socket } from 'node:net'

/** A Received is a request as an upstream has read it. */
export interface Received {
  readonly line: string
  readonly head: string
  readonly body: string
}

const LINE = /^[A-Z][A-Z-]* (?:\/[\x21\x22\x24-\x5b\x5d-\x7e]*|\*) HTTP\/1\.1$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a value must not have
const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+): ([^\u0000-\u0008\u000a-\u001f\u007f]*)$/
const CHUNK = /^([0-9a-f]{1,12})\r\n/
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n'

/** Reads a connection by a grammar of its own, which has one way to read anything, and notes what is not in it. */
class StrictReader {
  readonly #socket: Socket
  readonly #received: (request: Received) => void
  readonly #fault: (text: string) => void
  #bytes = ''
  #isTunnel = false
  #isBroken = false

  constructor(socket: Socket, received: (request: Received) => void, fault: (text: string) => void) {
    this.#socket = socket
    this.#received = received
    this.#fault = fault
    socket.on('data', (data: Buffer) => {
      if (this.#isTunnel || this.#isBroken) return
      this.#bytes += data.toString('latin1')
      while (!this.#isTunnel && this.#next());
    })
  }

  /** Takes one request off, if there is a whole one. */
  #next(): boolean {
    const end = this.#bytes.indexOf('\r\n\r\n')
    if (end < 0) return false
    const head = this.#bytes.slice(0, end)
    const [line = '', ...lines] = head.split('\r\n')
    const fields = new Map<string, string>()
    if (!LINE.test(line)) return this.#break(`a request line that is none: ${JSON.stringify(line)}`)
    for (const text of lines) {
      const [, name = '', value = ''] = FIELD.exec(text) ?? []
      const lower = name.toLowerCase()
      if (name === '') return this.#break(`a field that is none: ${JSON.stringify(text)}`)
      if (fields.has(lower) && FRAMING.has(lower)) return this.#break(`${name} twice`)
      fields.set(lower, value)
    }
    const body = this.#body(fields, end + 4)
    if (body === undefined || this.#isBroken) return false
    this.#bytes = this.#bytes.slice(body.end)
    this.#received({ line: line.slice(0, -' HTTP/1.1'.length), head, body: body.text })
    this.#answer(line, fields)
    return true
  }

  #body(fields: ReadonlyMap<string, string>, from: number): { text: string; end: number } | undefined {
    const [length, coding] = [fields.get('content-length'), fields.get('transfer-encoding')]
    if (length !== undefined && coding !== undefined) return this.#no('a length and chunks')
    if (!fields.has('host')) return this.#no('no host')
    if (coding !== undefined) return coding === 'chunked' ? this.#chunks(from) : this.#no(`the coding ${coding}`)
    if (length !== undefined && !/^\d{1,15}$/.test(length)) return this.#no(`the length ${length}`)
    const end = from + Number(length ?? 0)
    return end > this.#bytes.length ? undefined : { text: this.#bytes.slice(from, end), end }
  }

  #chunks(from: number): { text: string; end: number } | undefined {
    let text = ''
    for (let at = from; ; ) {
      const rest = this.#bytes.slice(at)
      const [line, digits = ''] = CHUNK.exec(rest) ?? []
      if (line === undefined) return rest.includes('\r\n') ? this.#no(`a chunk ${JSON.stringify(rest)}`) : undefined
      const size = Number.parseInt(digits, 16)
      at += line.length
      if (size === 0) return this.#trailers(at, text)
      if (this.#bytes.length < at + size + 2) return undefined
      text += this.#bytes.slice(at, at + size)
      if (this.#bytes.slice(at + size, at + size + 2) !== '\r\n') return this.#no('a chunk without its end')
      at += size + 2
    }
  }

  #trailers(from: number, text: string): { text: string; end: number } | undefined {
    for (let at = from; ; ) {
      const end = this.#bytes.indexOf('\r\n', at)
      if (end < 0) return undefined
      if (end === at) return { text, end: end + 2 }
      if (!FIELD.test(this.#bytes.slice(at, end))) return this.#no('a trailer that is none')
      at = end + 2
    }
  }

  /** Answers in one of several ways, by what is asked for: the same each time. */
  #answer(line: string, fields: ReadonlyMap<string, string>): void {
    const kind = createHash('sha1').update(line).digest()[0] as number
    const socket = this.#socket
    if (fields.get('upgrade') === 'websocket' && kind % 3 === 0) {
      this.#isTunnel = true
      const accept = createHash('sha1')
        .update(`${fields.get('sec-websocket-key')}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
        .digest('base64')
      const say = 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n'
      socket.end(`${say}Sec-WebSocket-Accept: ${accept}\r\n\r\n`)
    } else if (line.startsWith('HEAD ')) socket.write(OK)
    else if (kind % 5 === 1) socket.write('HTTP/1.1 204 No Content\r\n\r\n')
    else if (kind % 5 === 2) socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n')
    else if (kind % 5 === 3) socket.write('HTTP/1.1 426 Upgrade Required\r\nContent-Length: 2\r\n\r\nno')
    else socket.write(`${OK}ok`)
  }

  #no(text: string): undefined {
    this.#break(text)
    return undefined
  }

  #break(text: string): false {
    this.#isBroken = true
    this.#fault(text)
    this.#socket.destroy()
    return false
  }
}

const FRAMING = new Set(['host', 'content-length', 'transfer-encoding'])

/** Starts an upstream that reads strictly, and hands on what it reads. */
export async function startStrict(received: (request: Received) => void, fault: (text: string) => void) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    new StrictReader(socket, received, fault)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const stop = (): void => {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
  return { port, stop }
}
