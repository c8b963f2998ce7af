import type { ServerResponse } from 'node:http'
import { SluiceError } from 'sluice/internal/core/errors'
import { partKey } from '../api/parts.ts'
import type { LiveFrame, LiveFrames } from './live-frames.ts'

/** LiveStreamBounds are what readers of live figures may take. */
export interface LiveStreamBounds {
  readonly most: number
  readonly mostOfOne: number
  /** A reader for whom more than this waits is dropped: it can come back and ask for what it missed. */
  readonly maxWaitingBytes: number
  /** A stream ends after this long, so that a right that was taken away ends too. Browsers come back by themselves. */
  readonly lastsMs: number
}

const BOUNDS: LiveStreamBounds = { most: 64, mostOfOne: 8, maxWaitingBytes: 262_144, lastsMs: 300_000 }

interface Reader {
  readonly owner: string
  readonly response: ServerResponse
  readonly untilMs: number
}

/** LiveStreams sends each frame to all that watch. It is formatted once, however many there are. */
export class LiveStreams {
  readonly #bounds: LiveStreamBounds
  readonly #nowMs: () => number
  readonly #format: (frame: LiveFrame) => object
  readonly #readers = new Set<Reader>()
  #leave: (() => void) | undefined

  constructor(format: (frame: LiveFrame) => object, nowMs: () => number, bounds: Partial<LiveStreamBounds> = {}) {
    this.#format = format
    this.#nowMs = nowMs
    this.#bounds = { ...BOUNDS, ...bounds }
  }

  get count(): number {
    return this.#readers.size
  }

  /** open begins a stream with the frames after `sinceMs`. It throws STREAMS_TOO_MANY. */
  open(
    live: Pick<LiveFrames, 'history' | 'follow'>,
    response: ServerResponse,
    owner: string,
    sinceMs: number | undefined,
  ): void {
    const ofOne = [...this.#readers].filter((each) => each.owner === owner).length
    if (this.#readers.size >= this.#bounds.most || ofOne >= this.#bounds.mostOfOne) {
      throw new SluiceError('STREAMS_TOO_MANY', 'live', `${this.#readers.size} readers, ${ofOne} of this token`)
    }
    const reader = { owner, response, untilMs: this.#nowMs() + this.#bounds.lastsMs }
    this.#readers.add(reader)
    response.once('close', () => this.#remove(reader))
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' })
    const missed = sinceMs === undefined ? [] : live.history(sinceMs)
    response.write(`retry: 1000\n\n${missed.map((frame) => this.#event(frame)).join('')}`)
    this.#leave ??= live.follow((frame) => this.#send(frame))
  }

  #send(frame: LiveFrame): void {
    const event = this.#event(frame)
    const nowMs = this.#nowMs()
    for (const reader of this.#readers) {
      const { response, untilMs } = reader
      if (response.writableLength > this.#bounds.maxWaitingBytes) {
        this.#remove(reader)
        response.destroy()
      } else if (untilMs <= nowMs) response.end()
      else response.write(event)
    }
  }

  #event(frame: LiveFrame): string {
    return `id: ${frame.atMs}\ndata: ${JSON.stringify(this.#format(frame))}\n\n`
  }

  #remove(reader: Reader): void {
    this.#readers.delete(reader)
    if (this.#readers.size > 0) return
    this.#leave?.()
    this.#leave = undefined
  }
}

export const STREAMS = partKey<LiveStreams>('streams')
