import { Timer, type TimerWheel } from '../net/timer-wheel.ts'
import type { MessageRefusal } from './message-assembly.ts'
import type { ServerStream } from './server-stream.ts'
import type { Counters } from './stats.ts'
import { GrpcStatus } from './status.ts'
import { ACCEPTED_ENCODINGS } from './unpacking.ts'

/** A client that learns what is accepted may send the same again. */
export const UNKNOWN_ENCODING: MessageRefusal = {
  status: GrpcStatus.UNIMPLEMENTED,
  message: `grpc-encoding is not one of ${ACCEPTED_ENCODINGS}`,
}

/** What the runners of a server share. */
export interface RunnerHost {
  readonly counters: Counters
  readonly wheel: TimerWheel
  onError(error: unknown, path: string): void
}

/** Passes calls to their handlers, and ends calls that take too long. */
export class CallRunner {
  readonly #host: RunnerHost
  readonly #onLateRequest: (stream: ServerStream) => void

  /** Called for a request that is not a call and does not end. */
  constructor(host: RunnerHost, onLateRequest: (stream: ServerStream) => void) {
    this.#host = host
    this.#onLateRequest = onLateRequest
  }

  /** Hands a complete call to its handler. Whatever that throws, the call is answered. */
  run(stream: ServerStream): void {
    this.#host.counters.calls++
    stream.dispatched = true
    try {
      const result = stream.head.route!.handler(stream)
      if (isPromise(result)) result.then(undefined, (error: unknown) => this.#onFailure(error, stream))
    } catch (error) {
      this.#onFailure(error, stream)
    }
    if (stream.closed) return
    stream.dropHead(stream.head.route!.bareHead)
    if (stream.answered) return
    stream.releaseMessage()
    this.setTimer(stream, stream.deadlineMs)
  }

  /** Answers a call that does not reach its handler. */
  refuse(stream: ServerStream, refusal: MessageRefusal): void {
    if (refusal === UNKNOWN_ENCODING)
      stream.more.trailers = [{ name: 'grpc-accept-encoding', value: ACCEPTED_ENCODINGS }]
    stream.fail(refusal.status, refusal.message)
  }

  /** Ends the call at `dueMs` unless it has been answered by then. */
  setTimer(stream: ServerStream, dueMs: number) {
    if (dueMs === Number.POSITIVE_INFINITY) return this.clearTimer(stream)
    const { more } = stream
    more.timer ??= new Timer(() => this.#onTimer(stream))
    this.#host.wheel.set(more.timer, dueMs)
  }

  clearTimer(stream: ServerStream): void {
    const timer = stream.extras?.timer
    if (timer !== undefined) this.#host.wheel.clear(timer)
  }

  #onFailure(error: unknown, stream: ServerStream): void {
    this.#host.onError(error, stream.path)
    stream.fail(GrpcStatus.INTERNAL, 'internal error')
  }

  #onTimer(stream: ServerStream) {
    if (stream.answered || stream.closed) return
    if (stream.head.httpStatus !== 0) return this.#onLateRequest(stream)
    this.#host.counters.deadlinesExceeded++
    if (stream.dispatched) this.#host.counters.callsCancelled++
    stream.expire(stream.dispatched ? 'the deadline has passed' : 'the request did not come in time')
  }
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as PromiseLike<unknown>).then === 'function'
}
