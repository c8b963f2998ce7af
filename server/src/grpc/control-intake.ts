import type { BudgetName } from './budgets.ts'
import { writePing, writeSettingsAck } from './control-frames.ts'
import { ErrorCode, Flag, readUint31 } from './frames.ts'
import type { GrpcLimits } from './limits.ts'
import type { OutputBuffer } from './output-buffer.ts'
import { applySettings, type SettingsTarget } from './peer-settings.ts'
import type { ResponseWriter } from './response-writer.ts'
import type { ServerStream } from './server-stream.ts'
import type { ClosedFor } from './stats.ts'
import type { StreamTable } from './stream-table.ts'

/** The connection that is being controlled. */
export interface ControlOwner {
  /** Ends the connection. */
  fail(code: ErrorCode, reason: ClosedFor, rule: string): void
  resetStream(stream: ServerStream, code: ErrorCode): void
  /** Resets a stream that is not open. */
  resetId(id: number, code: ErrorCode): void
  /** Returns false where the budget is used up, and the connection ends. */
  spend(name: BudgetName): boolean
  onResetByClient(stream: ServerStream): void
  /** Gets the eight bytes of a PING that the client has answered. */
  onPingAnswer(content: Uint8Array): void
  onPeerGoaway(): void
}

/** What control frames act on. */
export interface ControlParts {
  readonly out: OutputBuffer
  readonly writer: ResponseWriter
  readonly streams: StreamTable
}

/** Follows every frame that is neither HEADERS, CONTINUATION nor DATA (RFC 9113, 6.3 to 6.9). */
export class ControlIntake implements SettingsTarget {
  readonly #owner: ControlOwner
  readonly #out: OutputBuffer
  readonly #writer: ResponseWriter
  readonly #streams: StreamTable
  readonly #mostSettings: number
  /** The client has sent its settings, which must come first. */
  hasSettings = false

  constructor(
    owner: ControlOwner,
    { out, writer, streams }: ControlParts,
    { maxSettingsEntries }: Pick<GrpcLimits, 'maxSettingsEntries'>,
  ) {
    this.#owner = owner
    this.#mostSettings = maxSettingsEntries
    this.#out = out
    this.#writer = writer
    this.#streams = streams
  }

  onSettings(flags: number, id: number, bytes: Uint8Array, start: number, end: number) {
    if (id !== 0) return this.#protocolError('SETTINGS must be on stream 0')
    const isAck = (flags & Flag.ACK) !== 0
    if (isAck ? end > start : (end - start) % 6 !== 0) return this.#frameSizeError('SETTINGS')
    if (!this.hasSettings && isAck) return this.#protocolError('the first frame must be SETTINGS')
    if (!this.#owner.spend('settings') || isAck) return
    if (end - start > 6 * this.#mostSettings) {
      return this.#owner.fail(ErrorCode.ENHANCE_YOUR_CALM, 'settings', 'too many settings in a frame')
    }
    this.hasSettings = true
    // The answer goes first: data that the new settings admit must come behind it.
    writeSettingsAck(this.#out)
    const fault = applySettings(bytes, start, end, this)
    if (fault !== undefined) this.#owner.fail(fault.code, 'protocolErrors', fault.rule)
  }

  setHeaderTableBytes(bytes: number): void {
    this.#writer.encoder.setPeerTableBytes(bytes)
  }

  setInitialWindow(bytes: number): boolean {
    return this.#writer.setInitialWindow(bytes, this.#streams.values())
  }

  onPing(flags: number, id: number, bytes: Uint8Array, start: number, end: number) {
    if (id !== 0) return this.#protocolError('PING must be on stream 0')
    if (end - start !== 8) return this.#frameSizeError('PING')
    if (!this.#owner.spend('pings')) return
    if ((flags & Flag.ACK) === 0) writePing(this.#out, Flag.ACK, bytes, start)
    else this.#owner.onPingAnswer(bytes.subarray(start, end))
  }

  /** Checks what RFC 9113 still says of priorities, and otherwise ignores them (5.3.2). */
  onPriority(id: number, bytes: Uint8Array, start: number, end: number) {
    if (id === 0) return this.#protocolError('PRIORITY must be on a stream')
    if (end - start !== 5) return this.#onStreamFault(id, ErrorCode.FRAME_SIZE_ERROR, 'PRIORITY must have 5 bytes')
    if (readUint31(bytes, start) === id) {
      return this.#onStreamFault(id, ErrorCode.PROTOCOL_ERROR, 'a stream cannot depend on itself')
    }
    this.#owner.spend('priorities')
  }

  onReset(id: number, length: number) {
    if (id === 0) return this.#protocolError('RST_STREAM must be on a stream')
    if (length !== 4) return this.#frameSizeError('RST_STREAM')
    if (this.#streams.isIdle(id)) return this.#protocolError('RST_STREAM on an idle stream')
    const stream = this.#streams.get(id)
    if (stream !== undefined) this.#owner.onResetByClient(stream)
    this.#owner.spend('resets')
  }

  onGoaway(id: number, length: number) {
    if (id !== 0) return this.#protocolError('GOAWAY must be on stream 0')
    if (length < 8) return this.#frameSizeError('GOAWAY')
    this.#owner.onPeerGoaway()
  }

  onWindowUpdate(id: number, bytes: Uint8Array, start: number, end: number) {
    if (end - start !== 4) return this.#frameSizeError('WINDOW_UPDATE')
    const increment = readUint31(bytes, start)
    if (id === 0) return this.#growConnection(increment)
    const stream = this.#streams.get(id)
    if (stream === undefined) {
      if (this.#streams.isIdle(id)) this.#protocolError('WINDOW_UPDATE on an idle stream')
      else if (increment === 0) this.#owner.spend('provokedResets')
    } else if (increment === 0) this.#owner.resetStream(stream, ErrorCode.PROTOCOL_ERROR)
    else if (!this.#writer.growStream(stream, increment)) this.#owner.resetStream(stream, ErrorCode.FLOW_CONTROL_ERROR)
  }

  #growConnection(increment: number): void {
    if (increment === 0) this.#protocolError('WINDOW_UPDATE must not be 0')
    else if (!this.#writer.grow(increment)) {
      this.#owner.fail(ErrorCode.FLOW_CONTROL_ERROR, 'protocolErrors', 'the window is larger than 2^31-1')
    }
  }

  /** Resets a stream, or ends the connection where there is none that could be reset. */
  #onStreamFault(id: number, code: ErrorCode, rule: string): void {
    const stream = this.#streams.get(id)
    if (stream !== undefined) this.#owner.resetStream(stream, code)
    else if (this.#streams.isIdle(id)) this.#owner.fail(code, 'protocolErrors', rule)
    else this.#owner.resetId(id, code)
  }

  #protocolError(rule: string): void {
    this.#owner.fail(ErrorCode.PROTOCOL_ERROR, 'protocolErrors', rule)
  }

  #frameSizeError(type: string): void {
    this.#owner.fail(ErrorCode.FRAME_SIZE_ERROR, 'protocolErrors', `${type} has a length that it cannot have`)
  }
}
