import { CircuitBreaker } from '../../engine/circuit-breaker.ts'
import { StoreFault } from '../../engine/store-fault.ts'
import { promiseJob, refuse, type WaitingJob } from '../redis/batch/waiting-job.ts'
import { Attempt, type AttemptHost, type Waiting } from './attempt.ts'
import type { CasJob } from './cas-job.ts'
import type { CasEvents } from './flights.ts'

/** Races for one counter that a job may lose before it gives up. */
const MAX_TRIES = 24
const LONGEST_PAUSE_MS = 32

/**
 * Flights where the work of one request may not wait for that of another: each job goes alone, within its request, and
 * leaves no timer behind. There is no queue, so processes and requests race each other for a counter.
 */
export class LoneFlights {
  readonly #host: AttemptHost
  readonly #events: CasEvents
  readonly #breaker: CircuitBreaker

  constructor(host: AttemptHost, events: CasEvents) {
    this.#host = host
    this.#events = events
    this.#breaker = new CircuitBreaker({ onChange: (state) => events.breakerChanged?.(host.engine.name, state) })
  }

  async submit<Answer>(job: CasJob<Answer>, timeoutMs: number): Promise<Answer> {
    const { name } = this.#host.engine
    const startedAt = Date.now()
    if (!this.#breaker.allows(startedAt)) throw new StoreFault('breaker_open', name, 'waiting for the store to recover')
    const made: WaitingJob<CasJob<unknown>, unknown>[] = []
    const take = (each: WaitingJob<CasJob<unknown>, unknown>): void => void made.push(each)
    const answer = promiseJob<CasJob<unknown>, unknown>(job, '', timeoutMs, take) as Promise<Answer>
    const waiting: Waiting = Object.assign(made[0], { tries: 0 })
    const late = new StoreFault('timeout', name, 'no answer within the deadline')
    const timer = setTimeout(() => refuse(waiting, late), timeoutMs)
    // The work goes on when the answer is late, as long as the request does.
    this.#make(waiting).catch((error: unknown) => {
      refuse(waiting, error instanceof StoreFault ? error : new StoreFault('broken', name, String(error), error))
    })
    let fault: StoreFault | undefined
    try {
      return await answer
    } catch (error) {
      fault = error as StoreFault
      throw error
    } finally {
      clearTimeout(timer)
      if (fault === undefined || fault.reason === 'overloaded') this.#breaker.succeeded()
      else this.#breaker.failed(Date.now())
      this.#events.callEnded?.(name, Date.now() - startedAt, job.decisions, fault)
    }
  }

  async #make(waiting: Waiting): Promise<void> {
    while (!waiting.isSettled) {
      const { lost, undone } = await new Attempt(this.#host, [waiting]).go()
      for (const job of undone) await this.submit(job, waiting.timeoutMs).catch(() => {})
      if (lost.length === 0) return
      if (++waiting.tries >= MAX_TRIES) {
        refuse(waiting, new StoreFault('overloaded', this.#host.engine.name, `lost ${MAX_TRIES} races in a row`))
      } else if (waiting.tries > 1) {
        const pauseMs = Math.random() * Math.min(2 ** waiting.tries, LONGEST_PAUSE_MS)
        await new Promise((resolve) => setTimeout(resolve, pauseMs))
      }
    }
  }
}
