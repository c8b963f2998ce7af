import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Clock } from '../net/clock.ts'
import type { Member } from '../net/crowds.ts'
import { networkOf } from '../net/network.ts'
import type { RateBudget } from '../net/rate-budget.ts'
import { type BudgetName, ConnectionBudgets } from './budgets.ts'
import { CallRunner, type RunnerHost } from './call-runner.ts'
import { type Activity, type Complaint, ConnectionWatch } from './connection-watch.ts'
import { writeGoaway, writePing, writeReset, writeSettings, writeWindowUpdate } from './control-frames.ts'
import { ControlIntake, type ControlOwner } from './control-intake.ts'
import { FrameReader, type FrameSink } from './frame-reader.ts'
import { DEFAULT_WINDOW_BYTES, ErrorCode, FrameType, MAX_STREAM_ID } from './frames.ts'
import type { HeaderField } from './hpack/hpack-encoder.ts'
import type { GrpcLimits } from './limits.ts'
import type { MessageRefusal } from './message-assembly.ts'
import { type BufferPool, OutputBuffer } from './output-buffer.ts'
import { addressOf, type Peer, peerOf } from './peer.ts'
import { plainAnswer } from './plain-answer.ts'
import { type IntakeHost, type IntakeOwner, NO_HEAD, RequestIntake } from './request-intake.ts'
import { type ResponseOwner, ResponseWriter } from './response-writer.ts'
import type { ServerStream } from './server-stream.ts'
import { SocketOutlet } from './socket-outlet.ts'
import type { ClosedFor } from './stats.ts'
import { Closure, StreamTable } from './stream-table.ts'

/** What the connections of a server share. */
export interface ConnectionHost extends IntakeHost, RunnerHost {
  readonly clock: Clock
  readonly pool: BufferPool
  /** Has `flush` called at the end of this turn of the event loop. */
  markDirty(connection: Connection): void
  onClosed(connection: Connection): void
  /** Called with how much more, or less, a connection holds than before. */
  onHeld(grownBytes: number): void
}

type Phase = 'open' | 'draining' | 'closing' | 'closed'

/** Output is written before the end of a turn when there is this much. */
const FLUSH_BYTES = 65_536
/** How long a client has to read our last words before its socket is destroyed. */
const LINGER_MS = 1_000
/** How long a client has to answer the PING between the two GOAWAY frames of a graceful end. */
const DRAIN_PING_MS = 1_000
/** About what a call takes in addition to its head and its message: 300 to 700 were measured. */
const STREAM_BYTES = 512
const DRAIN_PING = Buffer.from('goodbye!', 'latin1')

/** One client: it reads frames, keeps streams, hands calls to their handlers and writes the answers. */
export class Connection implements FrameSink, IntakeOwner, ControlOwner, ResponseOwner, Member {
  readonly #host: ConnectionHost
  readonly #limits: GrpcLimits
  readonly #socket: Duplex
  readonly #address: string
  readonly #reader: FrameReader
  readonly #out: OutputBuffer
  readonly #outlet: SocketOutlet
  readonly #writer: ResponseWriter
  readonly #runner: CallRunner
  readonly #intake: RequestIntake
  readonly #control: ControlIntake
  readonly #budgets: ConnectionBudgets
  readonly #streams = new StreamTable()
  readonly #watch: ConnectionWatch
  /** How much DATA the client may send before we open the window again. */
  readonly #window: number
  readonly #maxAgeMs: number
  #phase: Phase = 'open'
  #peer: Peer | undefined
  /** The time at which the chunk at hand, or the last one, was read. */
  chunkMs: number
  #reading = false
  #dirty = false
  #paused = false
  /** DATA that came since we last opened the connection's window. */
  #unackedBytes = 0
  /** What we did for the client: calls answered, and messages of streams. */
  #served = 0
  #frames = 0
  #phaseMs = 0
  #graceMs = 0
  #heldBytes = 0
  #unpackBudget: RateBudget | undefined

  constructor(socket: Duplex, host: ConnectionHost) {
    const { limits, clock } = host
    this.#host = host
    this.#limits = limits
    this.#socket = socket
    this.#address = addressOf(socket)
    this.chunkMs = clock.nowMs()
    this.#watch = new ConnectionWatch(limits, this.chunkMs)
    this.#maxAgeMs = limits.maxConnectionAgeMs * (1 - Math.random() / 10)
    this.#out = new OutputBuffer(host.pool)
    this.#outlet = new SocketOutlet(socket, this.#out, host.counters, () => this.#onDrain())
    this.#writer = new ResponseWriter(this.#out, this, host.counters)
    this.#runner = new CallRunner(host, (stream) => this.answerPlainly(stream, stream.head.httpStatus))
    this.#intake = new RequestIntake(this, host, this.#runner, this.#streams)
    this.#control = new ControlIntake(this, { out: this.#out, writer: this.#writer, streams: this.#streams }, limits)
    this.#budgets = new ConnectionBudgets(limits.budgets)
    this.#reader = new FrameReader(this)
    this.#listen()
    writeSettings(this.#out, limits)
    this.#window = Math.max(limits.connectionWindowBytes, DEFAULT_WINDOW_BYTES)
    const extraBytes = this.#window - DEFAULT_WINDOW_BYTES
    if (extraBytes > 0) writeWindowUpdate(this.#out, 0, extraBytes)
    this.flush()
  }

  #listen(): void {
    const socket = this.#socket
    socket.on('data', (chunk: Buffer) => this.#onChunk(chunk))
    socket.on('end', () => this.#onPeerEnd())
    // Whatever goes wrong with a socket, "close" follows.
    socket.on('error', () => {})
    socket.on('close', () => this.#onClose())
  }

  get peer(): Peer {
    this.#peer ??= peerOf(this.#socket)
    return this.#peer
  }

  nowMs(): number {
    return this.#host.clock.nowMs()
  }

  // ── Reading ──────────────────────────────────────────────────────────────────────────────────────────────────────

  #onChunk(chunk: Buffer): void {
    if (this.#phase === 'closing' || this.#phase === 'closed') return
    this.chunkMs = this.#host.clock.nowMs()
    this.#host.counters.bytesRead += chunk.length
    this.#reading = true
    try {
      this.#reader.push(chunk)
      this.#intake.onChunkEnd()
      this.#openWindow()
    } catch (error) {
      // An internal fault. This connection cannot continue, the others can.
      this.#host.onError(error, '')
      this.fail(ErrorCode.INTERNAL_ERROR, 'protocolErrors', 'internal error')
    } finally {
      this.#reading = false
    }
    this.flush()
  }

  onBadPreface(): void {
    this.fail(ErrorCode.PROTOCOL_ERROR, 'protocolErrors', 'a connection must begin with the preface of HTTP/2')
  }

  onOversizedFrame(): void {
    this.fail(ErrorCode.FRAME_SIZE_ERROR, 'protocolErrors', 'a frame is larger than SETTINGS_MAX_FRAME_SIZE')
  }

  onFrame(type: number, flags: number, streamId: number, bytes: Uint8Array, start: number, end: number) {
    this.#frames++
    if (this.#intake.openBlockSinceMs !== undefined && type !== FrameType.CONTINUATION) {
      return this.#protocolError('a header block must not be interrupted')
    }
    if (!this.#control.hasSettings && type !== FrameType.SETTINGS) {
      return this.#protocolError('the first frame must be SETTINGS')
    }
    switch (type) {
      case FrameType.DATA:
        return this.#intake.onData(flags, streamId, bytes, start, end)
      case FrameType.HEADERS:
        return this.#intake.onHeaders(flags, streamId, bytes, start, end)
      case FrameType.PRIORITY:
        return this.#control.onPriority(streamId, bytes, start, end)
      case FrameType.RST_STREAM:
        return this.#control.onReset(streamId, end - start)
      case FrameType.SETTINGS:
        return this.#control.onSettings(flags, streamId, bytes, start, end)
      case FrameType.PUSH_PROMISE:
        return this.#protocolError('a client cannot push')
      case FrameType.PING:
        return this.#control.onPing(flags, streamId, bytes, start, end)
      case FrameType.GOAWAY:
        return this.#control.onGoaway(streamId, end - start)
      case FrameType.WINDOW_UPDATE:
        return this.#control.onWindowUpdate(streamId, bytes, start, end)
      case FrameType.CONTINUATION:
        return this.#intake.onContinuation(flags, streamId, bytes, start, end)
      default:
        this.spend('unknownFrames')
    }
  }

  unpack(message: Uint8Array): Uint8Array | MessageRefusal {
    const { unpacking } = this.#host
    this.#unpackBudget ??= unpacking.connectionBudget()
    return unpacking.unpack(message, this.#unpackBudget, this.#address)
  }

  answerPlainly(stream: ServerStream, status: number): void {
    const { fields, body } = plainAnswer(status)
    stream.answered = true
    this.#writer.plain(stream, fields, stream.head.method === 'HEAD' ? NO_BODY : body)
    stream.dropHead(NO_HEAD)
    this.#intake.recount(stream)
    this.#wrote()
  }

  onHandlerError(error: unknown, stream: ServerStream): void {
    this.#host.onError(error, stream.path)
  }

  // ── Answers ──────────────────────────────────────────────────────────────────────────────────────────────────────

  respond(stream: ServerStream, message: Uint8Array): void {
    this.#writer.respond(stream, message)
    this.#wroteAnswer()
  }

  respondInto(stream: ServerStream, maxBytes: number, write: (buffer: Buffer, offset: number) => number): void {
    this.#writer.respondInto(stream, maxBytes, write)
    this.#wroteAnswer()
  }

  write(stream: ServerStream, message: Uint8Array): boolean {
    this.#served++
    const goOn = this.#writer.write(stream, message)
    this.#wrote()
    return goOn
  }

  end(stream: ServerStream, fields: readonly HeaderField[] | undefined): void {
    if (fields === undefined || fields[0].value === '0') this.#host.counters.callsAnswered++
    else this.#host.counters.callsFailed++
    this.#writer.end(stream, fields)
    this.#wrote()
  }

  isWritable(): boolean {
    return this.#outlet.unsentBytes < this.#limits.outputHighWaterBytes
  }

  onEnded(stream: ServerStream) {
    if (stream.dispatched) this.#served++
    if (stream.remoteEnded) return this.#close(stream, Closure.ENDED)
    // The client still sends what will not be read (RFC 9113, 8.1).
    writeReset(this.#out, stream.id, ErrorCode.NO_ERROR)
    this.#close(stream, Closure.RESET_BY_US)
  }

  #close(stream: ServerStream, closure: Closure): void {
    stream.closed = true
    this.#streams.close(stream.id, closure)
    this.#host.counters.streamsOpen--
    if (stream.heldBytes > 0) this.#intake.release(stream)
    if (stream.extras !== undefined) {
      this.#runner.clearTimer(stream)
      this.#writer.forget(stream)
    }
    if (this.#phase === 'draining' && this.#streams.size === 0) this.#endWhenDrained()
  }

  /** Like #wrote, for whole answers, which leave immediately if they are large. */
  #wroteAnswer(): void {
    this.#host.counters.callsAnswered++
    if (this.#out.length > FLUSH_BYTES) this.flush()
    this.#wrote()
  }

  /**
   * Flushes what was written at the end of the turn. A streaming call that keeps writing is not served sooner: it would
   * make all other clients wait.
   */
  #wrote(): void {
    if (this.#writer.queuedBytes > this.#limits.maxQueuedBytes) {
      this.fail(ErrorCode.ENHANCE_YOUR_CALM, 'stalledWindow', 'too many answers wait for flow control windows')
    } else if (!this.#reading) this.#markDirty()
  }

  #markDirty(): void {
    if (this.#dirty) return
    this.#dirty = true
    this.#host.markDirty(this)
  }

  /** Returns the address that the client is known by; see networkOf. */
  get network(): string {
    return networkOf(this.#address)
  }

  get use(): Member['use'] {
    if (this.#streams.size > 0) return 'busy'
    return this.#served > 0 ? 'idle' : 'none'
  }

  /** Makes room for another connection: the client is asked to reconnect, and the socket closes. */
  leave(): void {
    if (this.#phase === 'closing' || this.#phase === 'closed') return
    this.#host.counters.closedFor.crowd++
    this.close()
  }

  /** Ends a connection for which too much is held. What is not read would not be freed by waiting. */
  giveUp(): void {
    if (this.#outlet.isBusy) this.#abort('memory')
    else this.fail(ErrorCode.ENHANCE_YOUR_CALM, 'memory', 'the server holds too much for its clients')
  }

  /** Returns what this connection holds for its client. One that is being ended is as good as gone. */
  get heldBytes(): number {
    return this.#heldBytes
  }

  /** Updates what is held. Called whenever a chunk was read, and whenever something was written. */
  #weigh(): void {
    const isGone = this.#phase === 'closing' || this.#phase === 'closed'
    const bytes = isGone
      ? 0
      : this.#intake.heldBytes +
        this.#reader.heldBytes +
        this.#writer.queuedBytes +
        this.#outlet.unsentBytes +
        STREAM_BYTES * this.#streams.size
    if (bytes === this.#heldBytes) return
    const grownBytes = bytes - this.#heldBytes
    this.#heldBytes = bytes
    this.#host.onHeld(grownBytes)
  }

  /** Writes what has been collected, and sees to it that a client who does not read is not read from either. */
  flush(): void {
    this.#dirty = false
    this.#outlet.flush()
    if (this.#outlet.isBusy) this.#holdBack()
    else if (this.#writer.hasWaiting) {
      this.#writer.pump()
      if (this.#out.length > 0) this.#markDirty()
    }
    this.#weigh()
  }

  #holdBack(): void {
    const { unsentBytes } = this.#outlet
    if (unsentBytes > this.#limits.maxOutputBytes) this.#abort()
    else if (unsentBytes > this.#limits.outputHighWaterBytes && !this.#paused) {
      this.#paused = true
      this.#socket.pause()
    }
  }

  /** Drops a client that does not read; it would not read a GOAWAY either. */
  #abort(reason: ClosedFor = 'unreadOutput'): void {
    if (this.#phase === 'closing' || this.#phase === 'closed') return
    this.#phase = 'closing'
    this.#reader.stop()
    this.#host.counters.closedFor[reason]++
    this.#weigh()
    this.#socket.destroy()
  }

  #onDrain(): void {
    if (this.#phase === 'closing' || this.#phase === 'closed') return
    if (this.#paused) {
      this.#paused = false
      this.#socket.resume()
    }
    this.flush()
  }

  takeFromWindow(length: number): boolean {
    this.#unackedBytes += length
    if (this.#unackedBytes <= this.#window) return true
    this.fail(ErrorCode.FLOW_CONTROL_ERROR, 'protocolErrors', 'more DATA than the window admits')
    return false
  }

  /** Gives back what the client has used of the connection's window, once that is half of it. */
  #openWindow(): void {
    if (this.#unackedBytes * 2 <= this.#window || this.#phase === 'closing') return
    writeWindowUpdate(this.#out, 0, this.#unackedBytes)
    this.#unackedBytes = 0
  }

  // ── Errors ───────────────────────────────────────────────────────────────────────────────────────────────────────

  #protocolError(rule: string): void {
    this.fail(ErrorCode.PROTOCOL_ERROR, 'protocolErrors', rule)
  }

  resetStream(stream: ServerStream, code: ErrorCode): void {
    writeReset(this.#out, stream.id, code)
    this.#abandon(stream, Closure.RESET_BY_US)
    this.spend('provokedResets')
  }

  resetId(id: number, code: ErrorCode): void {
    writeReset(this.#out, id, code)
    this.#streams.markReset(id)
    this.spend('provokedResets')
  }

  onResetByClient(stream: ServerStream): void {
    this.#abandon(stream, Closure.RESET_BY_CLIENT)
  }

  /** Ends a stream without an answer. */
  #abandon(stream: ServerStream, closure: Closure): void {
    const wasAnswered = stream.answered
    this.#close(stream, closure)
    if (!wasAnswered && stream.dispatched) this.#host.counters.callsCancelled++
    stream.cancel()
  }

  /** Takes one from a budget, and ends the connection if there is none left. */
  spend(name: BudgetName): boolean {
    if (this.#budgets.spend(name, this.chunkMs, this.#served)) return true
    this.fail(ErrorCode.ENHANCE_YOUR_CALM, name, `too many: ${name}`)
    return false
  }

  // ── The end ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Ends the connection immediately: sends a GOAWAY and stops reading. */
  fail(code: ErrorCode, reason: ClosedFor, rule: string): void {
    if (this.#phase === 'closing' || this.#phase === 'closed') return
    this.#host.counters.closedFor[reason]++
    this.#endWith(code, rule)
  }

  #endWith(code: ErrorCode, rule: string): void {
    writeGoaway(this.#out, Math.min(this.#streams.lastId, this.#intake.lastServedId), code, rule)
    this.#finish()
    for (const stream of [...this.#streams.values()]) this.#abandon(stream, Closure.RESET_BY_US)
  }

  /** Sends the rest and closes the socket once the client has had time to read it. */
  #finish(): void {
    this.#phase = 'closing'
    this.#phaseMs = this.#host.clock.nowMs()
    this.#weigh()
    this.#reader.stop()
    this.#outlet.end()
    // What still comes is thrown away: closing a socket with unread data would take our last words from the client.
    this.#socket.resume()
  }

  /** Ends the connection when the calls that the client has made are answered, and after graceMs in any case. */
  drain(graceMs: number) {
    if (this.#phase !== 'open') {
      if (this.#phase === 'draining') this.#graceMs = Math.min(this.#graceMs, this.#host.clock.nowMs() + graceMs)
      return
    }
    this.#drainWithin(graceMs)
    if (!this.#control.hasSettings) return this.#sayLastId()
    // Streams may be on their way: the client first learns that it should open no more (RFC 9113, 6.8).
    writeGoaway(this.#out, MAX_STREAM_ID, ErrorCode.NO_ERROR)
    writePing(this.#out, 0, DRAIN_PING, 0)
    this.#markDirty()
  }

  #drainWithin(graceMs: number): void {
    this.#phase = 'draining'
    this.#phaseMs = this.#host.clock.nowMs()
    this.#graceMs = this.#phaseMs + graceMs
  }

  onPingAnswer(content: Uint8Array): void {
    if (this.#phase === 'draining' && DRAIN_PING.equals(content)) this.#sayLastId()
  }

  /** The client opens no more streams. Open ones are answered, and then nothing remains to be done. */
  onPeerGoaway(): void {
    if (this.#phase !== 'open') return
    this.#drainWithin(this.#limits.connectionAgeGraceMs)
    this.#sayLastId()
  }

  /** Announces the last stream that we serve; the client may send later ones elsewhere. */
  #sayLastId(): void {
    if (this.#intake.lastServedId !== MAX_STREAM_ID) return
    this.#intake.lastServedId = this.#streams.lastId
    writeGoaway(this.#out, this.#intake.lastServedId, ErrorCode.NO_ERROR)
    if (this.#streams.size === 0) this.#endWhenDrained()
    else if (!this.#reading) this.#markDirty()
  }

  #endWhenDrained(): void {
    if (this.#intake.lastServedId !== MAX_STREAM_ID) this.#finish()
  }

  /** Ends the connection immediately. */
  close(): void {
    if (this.#phase === 'open' || this.#phase === 'draining') this.#endWith(ErrorCode.NO_ERROR, '')
    // Unless the client does not read: then there is nothing to wait for.
    if (this.#socket instanceof Socket && !this.#outlet.isBusy) this.#socket.destroySoon()
    else this.#socket.destroy()
  }

  #onPeerEnd(): void {
    // A client does not half-close a connection that waits for answers; this one is gone.
    if (this.#phase !== 'closing') this.#finish()
  }

  #onClose(): void {
    if (this.#phase === 'closed') return
    this.#phase = 'closed'
    this.#weigh()
    this.#reader.stop()
    for (const stream of [...this.#streams.values()]) this.#abandon(stream, Closure.RESET_BY_US)
    this.#host.onClosed(this)
  }

  // ── Time ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Looks at what takes too long. The server calls it about once a second. */
  sweep(nowMs: number) {
    if (this.#phase === 'closed') return
    if (this.#phase === 'closing') {
      if (nowMs - this.#phaseMs >= LINGER_MS) this.#socket.destroy()
      return
    }
    const complaint = this.#watch.look(nowMs, this.#activity())
    if (complaint === 'unreadOutput') return this.#abort()
    if (complaint !== undefined) return this.fail(ErrorCode.ENHANCE_YOUR_CALM, complaint, RULES[complaint])
    if (this.#phase === 'draining') this.#sweepDraining(nowMs)
    else this.#sweepAge(nowMs)
  }

  #activity(): Activity {
    return {
      frames: this.#frames,
      hasPartialFrame: this.#reader.partial && !this.#paused,
      blockSinceMs: this.#intake.openBlockSinceMs,
      hasSettings: this.#control.hasSettings,
      queuedBytes: this.#writer.queuedBytes,
      sentBytes: this.#writer.sentBytes,
      isBusy: this.#outlet.isBusy,
      writes: this.#outlet.written,
    }
  }

  #sweepDraining(nowMs: number): void {
    if (nowMs >= this.#graceMs) this.#endWith(ErrorCode.NO_ERROR, 'the calls did not end in time')
    else if (nowMs - this.#phaseMs >= DRAIN_PING_MS) this.#sayLastId()
  }

  #sweepAge(nowMs: number): void {
    const { idleTimeoutMs, connectionAgeGraceMs } = this.#limits
    const { closedFor } = this.#host.counters
    if (nowMs - this.#watch.bornMs >= this.#maxAgeMs) closedFor.age++
    else if (this.#streams.size === 0 && nowMs - this.chunkMs >= idleTimeoutMs) closedFor.idle++
    else return
    this.drain(connectionAgeGraceMs)
  }
}

const NO_BODY = new Uint8Array(0)

const RULES: Readonly<Record<Complaint, string>> = {
  slowPreface: 'the preface did not come in time',
  slowFrame: 'a frame did not come in time',
  stalledWindow: 'flow control windows did not open in time',
  unreadOutput: '',
}
