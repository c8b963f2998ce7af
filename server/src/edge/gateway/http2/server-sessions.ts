import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import type { Member } from '../../../grpc/crowds.ts'
import { errorAnswer } from '../gateway-error.ts'
import type { Host } from '../host.ts'
import { httpDate } from '../outgoing-fields.ts'
import type { ClientFacts } from '../sides.ts'
import { fieldMap } from './field-map.ts'
import { readHttp2Request } from './read-request.ts'
import { StreamAsker } from './stream-asker.ts'
import { boundEnd, lingerOn } from './stream-end.ts'

const END_STREAM = 1
/** Streams that a client opens and resets at once: so many together, and so many a second. More end the connection. */
const RESET_BURST = 1_000
const RESET_RATE = 33
const MAX_STREAM_ID = 2 ** 31 - 1
/** Between the two notices of an end (RFC 9113, 6.8): what was sent before the first is served. */
const NOTICE_MS = 500

/** A connection of HTTP/2, as connections are counted. */
export class SessionGuest implements Member {
  readonly #host: Host
  readonly socket: Socket
  session: ServerHttp2Session | undefined
  streams = 0
  hasAsked = false
  /** Those who still wait for their answers. */
  readonly askers = new Set<StreamAsker>()

  constructor(host: Host, socket: Socket) {
    this.#host = host
    this.socket = socket
  }

  get use(): Member['use'] {
    if (this.streams > 0) return 'busy'
    return this.hasAsked ? 'idle' : 'none'
  }

  leave(): void {
    this.session?.destroy()
    this.socket.destroy()
  }

  retire(): void {
    const { session } = this
    // One that broke is destroyed before its connection is gone, and is not closed: node:http2 throws then.
    if (session === undefined || session.closed || session.destroyed) return
    session.goaway(0, MAX_STREAM_ID)
    this.#host.clock.after(NOTICE_MS, () => {
      if (!session.closed) session.close()
    })
  }
}

/** ServerSessions serves connections of HTTP/2 that somebody else has accepted. */
export class ServerSessions {
  readonly #host: Host
  readonly #server: Http2Server
  #arriving: { readonly facts: ClientFacts; readonly guest: SessionGuest } | undefined

  constructor(host: Host) {
    this.#host = host
    const { maxHeaders, maxHeaderBytes, maxStreams, keepAliveMs } = host.bounds
    this.#server = createServer({
      maxHeaderListPairs: maxHeaders,
      maxSendHeaderBlockLength: 4 * maxHeaderBytes,
      // In MB: what a session holds in all its streams.
      maxSessionMemory: 10,
      maxSessionInvalidFrames: 100,
      ...{ streamResetBurst: RESET_BURST, streamResetRate: RESET_RATE },
      settings: {
        maxConcurrentStreams: maxStreams,
        maxHeaderListSize: maxHeaderBytes,
        enableConnectProtocol: true,
        initialWindowSize: 65_535,
      },
    })
    this.#server.on('session', (session: ServerHttp2Session) => this.#begin(session, keepAliveMs))
    this.#server.on('sessionError', () => {})
    this.#server.on('error', () => {})
  }

  accept(socket: Socket, facts: ClientFacts): SessionGuest {
    const guest = new SessionGuest(this.#host, socket)
    this.#arriving = { facts, guest }
    this.#server.emit('connection', socket)
    this.#arriving = undefined
    // node:http2 leaves the end to the socket, and sockets that may be half open do nothing about it.
    socket.once('end', () => guest.leave())
    return guest
  }

  #begin(session: ServerHttp2Session, keepAliveMs: number): void {
    const arriving = this.#arriving
    if (arriving === undefined) {
      session.destroy()
      return
    }
    const { guest, facts } = arriving
    guest.session = session
    session.on('error', () => {})
    // No request outlives its connection, whatever becomes of its stream.
    const lose = (): void => {
      for (const asker of guest.askers) asker.lose()
      guest.askers.clear()
    }
    session.once('close', lose)
    guest.socket.once('close', lose)
    session.setTimeout(keepAliveMs, () => {
      if (guest.streams === 0) session.close()
    })
    session.on('stream', (stream, _headers, flags, raw?: string[]) => {
      // Errors of a stream end in its 'close'; without a listener, they would end the process.
      stream.on('error', () => {})
      guest.streams++
      guest.hasAsked = true
      stream.on('close', () => guest.streams--)
      this.#serve(stream, guest, facts, (flags & END_STREAM) !== 0, raw ?? [])
    })
  }

  #serve(stream: ServerHttp2Stream, guest: SessionGuest, facts: ClientFacts, hasEnded: boolean, raw: string[]): void {
    // Reset in the same read as its head: node:http2 throws at any answer.
    if (stream.closed || stream.destroyed) return
    const head = readHttp2Request(raw, hasEnded)
    if ('code' in head) {
      this.#host.refused(head)
      const { status, headers, body } = errorAnswer(head, ['date', httpDate()])
      stream.respond({ ...fieldMap(headers), ':status': status })
      lingerOn(stream)
      boundEnd(stream, this.#host)
      stream.end(body)
      return
    }
    const asker = new StreamAsker(stream, facts, this.#host)
    guest.askers.add(asker)
    stream.once('close', () => guest.askers.delete(asker))
    const listener = this.#host.begin(asker, head)
    asker.attach(listener, head, hasEnded)
    listener.start()
  }
}
