import type { GrpcLimits } from './limits.ts'

/** What a connection shows of itself. */
export interface Activity {
  /** Frames read so far. */
  readonly frames: number
  /** The end of a frame is missing, and we are ready to read it. */
  readonly hasPartialFrame: boolean
  /** When a header block began that is not complete. */
  readonly blockSinceMs: number | undefined
  readonly hasSettings: boolean
  /** Answers that wait for flow control windows. */
  readonly queuedBytes: number
  readonly sentBytes: number
  /** The socket has not taken what it was given. */
  readonly isBusy: boolean
  readonly writes: number
}

/** Less than this in a stall timeout is no progress: a client must not hold answers by taking a byte at a time. */
const MIN_PROGRESS_BYTES = 1_024

export type Complaint = 'slowPreface' | 'slowFrame' | 'stalledWindow' | 'unreadOutput'

/**
 * Finds what takes too long on a connection by comparing what it looks like from time to time. So the connection itself
 * need not note times.
 */
export class ConnectionWatch {
  readonly #limits: GrpcLimits
  readonly #bornMs: number
  #frames = -1
  #sentBytes = 0
  #writes = 0
  #partialSinceMs: number
  #queuedSinceMs: number
  #busySinceMs: number

  constructor(limits: GrpcLimits, nowMs: number) {
    this.#limits = limits
    this.#bornMs = nowMs
    this.#partialSinceMs = nowMs
    this.#queuedSinceMs = nowMs
    this.#busySinceMs = nowMs
  }

  get bornMs(): number {
    return this.#bornMs
  }

  /** Returns what has lasted too long, if anything. */
  look(nowMs: number, activity: Activity): Complaint | undefined {
    this.#compare(nowMs, activity)
    const { prefaceTimeoutMs, frameTimeoutMs, stallTimeoutMs } = this.#limits
    if (nowMs - this.#busySinceMs >= stallTimeoutMs) return 'unreadOutput'
    if (!activity.hasSettings) return nowMs - this.#bornMs >= prefaceTimeoutMs ? 'slowPreface' : undefined
    if (nowMs - this.#partialSinceMs >= frameTimeoutMs) return 'slowFrame'
    if (nowMs - (activity.blockSinceMs ?? nowMs) >= frameTimeoutMs) return 'slowFrame'
    if (nowMs - this.#queuedSinceMs >= stallTimeoutMs) return 'stalledWindow'
    return undefined
  }

  /** Moves each start of waiting to now where there is nothing to wait for, or something has moved. */
  #compare(nowMs: number, { frames, hasPartialFrame, queuedBytes, sentBytes, isBusy, writes }: Activity): void {
    if (!hasPartialFrame || frames !== this.#frames) this.#partialSinceMs = nowMs
    if (!isBusy || writes !== this.#writes) this.#busySinceMs = nowMs
    this.#frames = frames
    this.#writes = writes
    if (queuedBytes > 0 && sentBytes - this.#sentBytes < MIN_PROGRESS_BYTES) return
    this.#queuedSinceMs = nowMs
    this.#sentBytes = sentBytes
  }
}
