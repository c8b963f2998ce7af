import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import type { ConnectionBudget, Excess } from '../../../net/client-budgets.ts'
import type { Member } from '../../../net/crowds.ts'
import { errorAnswer } from '../gateway-error.ts'
import type { Host } from '../host.ts'
import { httpDate } from '../outgoing-fields.ts'
import type { ClientFacts } from '../sides.ts'
import { fieldMap } from './field-map.ts'
import { readHttp2Request } from './read-request.ts'
import { StreamAsker } from './stream-asker.ts'
import { boundEnd, isResetByUs, lingerOn } from './stream-end.ts'

const END_STREAM = 1
const REFUSED_STREAM = 7
const ENHANCE_YOUR_CALM = 11
/** A request that is given up later than this is one that was waited for. */
const SOON_MS = 1_000
/** What a field is counted as in addition to its name and value (RFC 9113, 6.5.2). */
const FIELD_BYTES = 32
/** This many fields are as much work as beginning a request. */
const FIELDS_PER_UNIT = 32
const MAX_STREAM_ID = 2 ** 31 - 1
/** Between the two notices of an end (RFC 9113, 6.8): what was sent before the first is served. */
const NOTICE_MS = 500

/** A connection of HTTP/2, as connections are counted. */
export class SessionGuest implements Member {
  readonly #host: Host
  readonly socket: Socket
  readonly budget: ConnectionBudget
  session: ServerHttp2Session | undefined
  streams = 0
  hasAsked = false
  /** Requests that still wait for their answers. */
  readonly askers = new Set<StreamAsker>()

  constructor(host: Host, socket: Socket, budget: ConnectionBudget) {
    this.#host = host
    this.socket = socket
    this.budget = budget
  }

  get use(): Member['use'] {
    if (this.streams > 0) return 'busy'
    return this.hasAsked ? 'idle' : 'none'
  }

  leave(): void {
    this.session?.destroy()
    this.socket.destroy()
  }

  /** Stops reading in the middle of what has come: a session that is only closed would read to the end. */
  giveUp(excess: Excess): void {
    this.session?.destroy(new Error(`too many ${excess}`), ENHANCE_YOUR_CALM)
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

/** Serves connections of HTTP/2 that a listener has accepted. */
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

  accept(socket: Socket, facts: ClientFacts, budget: ConnectionBudget): SessionGuest {
    const guest = new SessionGuest(this.#host, socket, budget)
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
    // It runs from the last frame, and may run out more than once, also while a stream waits.
    session.setTimeout(keepAliveMs)
    let hasRunOut = false
    session.on('timeout', () => {
      if (guest.streams === 0) session.close()
      else hasRunOut = true
    })
    session.on('stream', (stream, _headers, flags, raw?: string[]) => {
      this.#arrive(new Arrival(stream, raw ?? [], (flags & END_STREAM) !== 0), guest, facts)
      stream.on('close', () => {
        if (guest.streams > 0 || !hasRunOut) return
        hasRunOut = false
        session.setTimeout(keepAliveMs)
      })
    })
  }

  /**
   * Counts a stream, and begins to serve it in a later turn: one that is reset until then makes no more work. Resets
   * are counted while they are read, so that a connection that has too many ends before the rest of it is read.
   */
  #arrive(arrival: Arrival, guest: SessionGuest, facts: ClientFacts): void {
    const { stream } = arrival
    const { clock } = this.#host
    const sinceMs = clock.nowMs()
    // Errors of a stream end in its 'close'; without a listener, they would end the process.
    stream.on('error', () => {})
    guest.streams++
    guest.hasAsked = true
    let heldBytes = 0
    const hold = (raw: readonly string[]): void => {
      const bytes = sizeOf(raw)
      if (!guest.budget.hasRoom(bytes)) {
        stream.close(REFUSED_STREAM)
        stream.destroy()
        return
      }
      heldBytes += bytes
      guest.budget.hold(bytes)
    }
    const aborted = (): void => {
      const isGivenUp = clock.nowMs() - sinceMs < SOON_MS && !isResetByUs(stream)
      if (isGivenUp && guest.session?.destroyed === false) guest.budget.reset()
    }
    // What came before the session began was read in one go.
    if (stream.aborted) aborted()
    else stream.once('aborted', aborted)
    stream.on('close', () => {
      guest.streams--
      guest.budget.hold(-heldBytes)
      if (!stream.aborted) guest.budget.served()
    })
    stream.once('trailers', (_headers, _flags, raw?: string[]) => {
      arrival.trailers = raw ?? []
      hold(arrival.trailers)
    })
    hold(arrival.raw)
    guest.budget.later(() => {
      if (stream.closed || stream.destroyed || stream.aborted) return 0
      this.#serve(arrival, guest, facts)
      return 1 + Math.floor(arrival.raw.length / (2 * FIELDS_PER_UNIT))
    })
  }

  #serve({ stream, raw, hasEnded, trailers }: Arrival, guest: SessionGuest, facts: ClientFacts): void {
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
    // They came before anyone heard them.
    if (trailers !== undefined) stream.emit('trailers', {}, 0, trailers)
    listener.start()
  }
}

/** A stream that waits for its turn. */
class Arrival {
  readonly stream: ServerHttp2Stream
  readonly raw: readonly string[]
  readonly hasEnded: boolean
  trailers: readonly string[] | undefined

  constructor(stream: ServerHttp2Stream, raw: readonly string[], hasEnded: boolean) {
    this.stream = stream
    this.raw = raw
    this.hasEnded = hasEnded
  }
}

/** Returns the size of fields as HPACK counts it. */
function sizeOf(raw: readonly string[]): number {
  let bytes = raw.length * (FIELD_BYTES / 2)
  for (const text of raw) bytes += text.length
  return bytes
}
