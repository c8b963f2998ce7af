import { Timer } from '../../../net/timer-wheel.ts'
import type { ExchangeHost } from './exchange-host.ts'

/** Called on a timeout: of the whole request, or of its phase. */
type TimedOut = (isTotal: boolean) => void

/**
 * Holds a request to the times of its phases and of the whole. Bytes only note when they came: the timer is moved when
 * it runs, or when a phase begins.
 */
export class PhaseTimer extends Timer {
  readonly #host: ExchangeHost
  readonly #timedOut: TimedOut
  #phaseMs = Number.POSITIVE_INFINITY
  #totalDueMs = Number.POSITIVE_INFINITY
  #activeMs = 0

  constructor(host: ExchangeHost, timedOut: TimedOut) {
    super(() => this.#due())
    this.#host = host
    this.#timedOut = timedOut
  }

  /** Since the last byte, or the begin of the phase. */
  get idleMs(): number {
    return this.#host.clock.nowMs() - this.#activeMs
  }

  /** Bounds the whole request, from now on; 0 is no bound. */
  start(totalMs: number): void {
    this.#activeMs = this.#host.clock.nowMs()
    if (totalMs > 0) this.#totalDueMs = this.#activeMs + totalMs
  }

  /** Bounds a phase, from now on. */
  begin(phaseMs: number): void {
    const nowMs = this.#host.clock.nowMs()
    this.#activeMs = nowMs
    this.#phaseMs = phaseMs
    const dueMs = Math.min(nowMs + phaseMs, this.#totalDueMs)
    if (dueMs === Number.POSITIVE_INFINITY) this.stop()
    else this.#host.wheel.set(this, dueMs)
  }

  /** Notes that bytes came or went. */
  active(): void {
    this.#activeMs = this.#host.clock.nowMs()
  }

  stop(): void {
    this.#host.wheel.clear(this)
  }

  #due(): void {
    const nowMs = this.#host.clock.nowMs()
    const phaseDueMs = this.#activeMs + this.#phaseMs
    if (nowMs < this.#totalDueMs && nowMs < phaseDueMs) {
      this.#host.wheel.set(this, Math.min(phaseDueMs, this.#totalDueMs))
      return
    }
    this.#timedOut(nowMs >= this.#totalDueMs)
  }
}
