import { type ClientHttp2Session, type ClientHttp2Stream, connect, type IncomingHttpHeaders } from 'node:http2'
import { isIP, type Socket } from 'node:net'
import type { SecureContext } from 'node:tls'
import { SourceFault } from '../remote-source.ts'
import { MessageAssembler } from './message-assembler.ts'

const PATH = '/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources'
/** What may be on the way before it is read. */
const WINDOW = 1024 * 1024
const KEEP_ALIVE_MS = 30_000
const MAX_REASON = 200

/** Where a control plane is, and how it is called. */
export interface AdsOptions {
  readonly host: string
  readonly port: number
  /** Undefined: no TLS. */
  readonly tls: AdsTls | undefined
  readonly headers: Readonly<Record<string, string>>
  /** How long a connection may take, and a message from its first byte to its last. */
  readonly timeoutMs: number
  readonly maxMessageBytes: number
}

export interface AdsTls {
  readonly secureContext: SecureContext | undefined
  /** The name that the certificate is made out to. Undefined: the host's. */
  readonly serverName: string | undefined
}

/** Events of a stream. */
export interface AdsEvents {
  /** The connection is open. A control plane without rules sends nothing from then on. */
  opened(): void
  /** Takes one message after the other: nothing more is read until it resolves. */
  message(message: Buffer): Promise<void>
  /** Called once, as the last event. `isPolite`: the server asks to reconnect, and nothing is wrong. */
  ended(reason: string, isPolite: boolean): void
}

/** One call of the aggregated discovery service, on a separate connection. */
export class AdsStream {
  readonly #options: AdsOptions
  readonly #events: AdsEvents
  readonly #session: ClientHttp2Session
  readonly #stream: ClientHttp2Stream
  readonly #assembler: MessageAssembler
  #deadline: NodeJS.Timeout | undefined
  #isEnded = false
  #isTaking = false

  /** The constructor dials. It throws where the options make no connection. */
  constructor(options: AdsOptions, events: AdsEvents) {
    this.#options = options
    this.#events = events
    this.#assembler = new MessageAssembler(options.maxMessageBytes)
    this.#session = dial(options)
    this.#expect('no connection')
    this.#session.on('error', (error) => this.#end(reasonOf(error)))
    this.#session.on('close', () => this.#end('the connection was closed'))
    this.#session.on('goaway', (code) => this.#end(`the server asked to reconnect (${code})`, code === 0))
    this.#session.on('connect', (_, socket) => this.#opened(socket))
    this.#stream = this.#session.request(
      {
        ...options.headers,
        ':method': 'POST',
        ':path': PATH,
        'content-type': 'application/grpc',
        te: 'trailers',
        'user-agent': 'sluice',
      },
      { endStream: false },
    )
    this.#listen(this.#stream)
  }

  /** Sends a message. On a stream that has ended it is lost. */
  send(message: Uint8Array): void {
    if (this.#isEnded) return
    const head = Buffer.alloc(5)
    head.writeUInt32BE(message.length, 1)
    this.#stream.write(Buffer.concat([head, message]))
  }

  /** Ends it without an event. */
  close(): void {
    this.#isEnded = true
    clearTimeout(this.#deadline)
    this.#session.destroy()
  }

  #listen(stream: ClientHttp2Stream): void {
    stream.on('response', (headers) => {
      if (headers[':status'] !== 200) this.#end(`answered ${headers[':status']}`)
      else if (headers['grpc-status'] !== undefined) this.#end(statusOf(headers))
    })
    stream.on('trailers', (headers) => this.#end(statusOf(headers)))
    stream.on('error', (error) => this.#end(reasonOf(error)))
    stream.on('close', () => this.#end('the stream was closed'))
    stream.on('data', (chunk: Buffer) => {
      this.#assembler.push(chunk)
      void this.#take()
    })
  }

  #opened(socket: Socket): void {
    clearTimeout(this.#deadline)
    socket.setKeepAlive(true, KEEP_ALIVE_MS)
    this.#session.setLocalWindowSize(WINDOW)
    this.#events.opened()
  }

  /** Hands over what is whole, one by one. */
  async #take(): Promise<void> {
    if (this.#isTaking) return
    this.#isTaking = true
    this.#stream.pause()
    try {
      for (let message = this.#next(); message !== undefined; message = this.#next()) {
        clearTimeout(this.#deadline)
        this.#deadline = undefined
        await this.#events.message(message)
      }
    } catch (error) {
      this.#end(error instanceof SourceFault ? error.message : String(error))
      return
    } finally {
      this.#isTaking = false
    }
    if (this.#assembler.isWaiting && this.#deadline === undefined) this.#expect('no whole message')
    if (!this.#isEnded) this.#stream.resume()
  }

  #next(): Buffer | undefined {
    return this.#isEnded ? undefined : this.#assembler.next()
  }

  /** Ends the stream unless something happens in time. */
  #expect(missing: string): void {
    const { timeoutMs } = this.#options
    this.#deadline = setTimeout(() => this.#end(`${missing} within ${timeoutMs} ms`), timeoutMs)
  }

  #end(reason: string, isPolite = false): void {
    if (this.#isEnded) return
    this.close()
    this.#events.ended(reason, isPolite)
  }
}

function dial({ host, port, tls, maxMessageBytes }: AdsOptions): ClientHttp2Session {
  const authority = `${tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`
  return connect(authority, {
    settings: { enablePush: false, initialWindowSize: WINDOW },
    // In MiB: one message, and what is on the way.
    maxSessionMemory: Math.ceil(maxMessageBytes / WINDOW) + 8,
    ...(tls?.secureContext && { secureContext: tls.secureContext }),
    // An address is no name to ask a server for.
    ...(tls && { servername: tls.serverName ?? (isIP(host) === 0 ? host : '') }),
  })
}

/** Returns how a call ended. The text is a stranger's. */
function statusOf(headers: IncomingHttpHeaders): string {
  const text = String(headers['grpc-message'] ?? '')
  const shown = decoded(text).replace(/[^\x20-\x7e]/g, ' ')
  return `status ${Number(headers['grpc-status'])}${shown === '' ? '' : `: ${shown.slice(0, MAX_REASON)}`}`
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Returns the error code, if there is one. What ends a connection ends its streams, which report it first. */
function reasonOf(error: Error): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ERR_HTTP2_STREAM_CANCEL' && error.cause instanceof Error) return reasonOf(error.cause)
  return code === undefined || code === 'ERR_HTTP2_ERROR' ? message.slice(0, MAX_REASON) : code
}
