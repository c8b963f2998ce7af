import { type Call, callOf } from './call.ts'
import { type GiveUpReason, RateLimitError } from './errors.ts'
import { now } from './lane.ts'
import { Lanes, type PacedLane } from './lanes.ts'
import {
  checkAmounts,
  type FetchInput,
  type PacedFetch,
  type PacedFetchCounts,
  type PacedFetchEvents,
  type PacedFetchOptions,
  type PacedInit,
} from './options.ts'
import { parseRateLimits, type RateLimits } from './rate-limits.ts'
import { backoffMs, jittered, RetryBudget } from './retries.ts'
import { Tabs } from './tabs.ts'

const SAVED_RETRIES = 10

/**
 * createFetch wraps fetch so that it keeps to what servers say of their limits: it spreads calls over what is left, waits as it is
 * told, and tries again what was refused, within a deadline and a share of the traffic. A call that is given up rejects with a
 * RateLimitError.
 */
export function createFetch(options: PacedFetchOptions = {}): PacedFetch {
  const { deadlineMs, retries, retryShare, maxWaiting } = options
  checkAmounts({ deadlineMs, retries, retryShare, maxWaiting })
  const paced = new Paced(options)
  return Object.assign((input: FetchInput, init?: PacedInit) => paced.call(input, init), {
    counts: () => paced.counts(),
    close: () => paced.close(),
  })
}

class Paced {
  readonly #options: PacedFetchOptions
  readonly #lanes: Lanes
  readonly #retries: RetryBudget
  readonly #tabs: Tabs
  readonly #counts = { calls: 0, sent: 0, refused: 0, retried: 0, gaveUp: 0 }

  constructor(options: PacedFetchOptions) {
    this.#options = options
    this.#lanes = new Lanes(options.maxWaiting ?? 10_000)
    this.#retries = new RetryBudget(options.retryShare ?? 0.2, SAVED_RETRIES)
    this.#tabs = new Tabs(options.channel, ({ lane: name, budgets, pauseMs }) => {
      const lane = this.#lanes.of(name)
      lane.pacer.told(now(), budgets)
      lane.pacer.pause(now(), pauseMs)
      lane.look()
    })
  }

  counts(): PacedFetchCounts {
    return { ...this.#counts, waiting: this.#lanes.waiting }
  }

  close(): void {
    this.#tabs.close()
  }

  async call(input: FetchInput, init: PacedInit = {}): Promise<Response> {
    const call = callOf(this.#options, this.#counts.calls++, input, init)
    this.#retries.called()
    const lane = this.#lanes.of(call.laneName)
    try {
      for (let attempt = 0; ; attempt++) {
        const response = await this.#attempt(call, lane)
        const limits = parseRateLimits(response.headers)
        const isRefused = isRefusal(response, limits)
        const waitMs = isRefused ? pauseOf(limits, attempt) : 0
        this.#learn(call, lane, { response, limits, waitMs, isRefused })
        if (!isRefused) return response
        await this.#again(call, { response, limits, waitMs, attempt })
      }
    } catch (error) {
      if (error instanceof RateLimitError) this.#counts.gaveUp++
      throw error
    }
  }

  /** #attempt waits for its turn, and sends. */
  async #attempt(call: Call, lane: PacedLane): Promise<Response> {
    call.signal?.throwIfAborted()
    if (this.#options.throttle && !lane.pacer.isPaced && !lane.accepts.mayGo(now(), Math.random())) {
      throw new RateLimitError('throttled', 'the server has refused too much of late')
    }
    const askedMs = now()
    await lane.enter(call)
    this.#counts.sent++
    const waitedMs = now() - askedMs
    if (waitedMs >= 1) this.#tell('waited', { url: call.url, waitedMs })
    try {
      return await call.send()
    } catch (error) {
      lane.pacer.failed(call.cost)
      lane.look()
      throw error
    }
  }

  /** #learn takes what an answer says, for all calls to the same server. */
  #learn(
    { cost, laneName }: Call,
    lane: PacedLane,
    { response, limits: { budgets }, waitMs, isRefused }: Answer & { readonly isRefused: boolean },
  ): void {
    const nowMs = now()
    lane.pacer.answered(nowMs, cost, budgets)
    if (isRefused) lane.pacer.refused(nowMs, waitMs)
    else if (response.status !== 503) lane.accepts.accepted(nowMs)
    if (isRefused || budgets.length > 0) this.#tabs.tell({ lane: laneName, budgets, pauseMs: waitMs })
    lane.look()
  }

  /** #again makes ready for another attempt, or gives up. */
  async #again(
    call: Call,
    { response, limits, waitMs, attempt }: Answer & { readonly attempt: number },
  ): Promise<void> {
    this.#counts.refused++
    const { url } = call
    const reason = this.#reasonToGiveUp(call, limits, attempt, waitMs)
    this.#tell('refused', { url, status: response.status, retryInMs: reason === undefined ? waitMs : undefined })
    if (reason !== undefined) {
      throw new RateLimitError(reason, `${new URL(url).host} answered ${response.status}`, waitMs, response)
    }
    this.#counts.retried++
    // Nobody reads it; one that is broken already is no loss.
    await response.body?.cancel().catch(() => {})
  }

  #reasonToGiveUp(call: Call, { shouldRetry }: RateLimits, attempt: number, waitMs: number): GiveUpReason | undefined {
    if (!call.isRepeatable() || shouldRetry === false || attempt >= (this.#options.retries ?? 5)) return 'refused'
    if (now() + waitMs > call.deadlineAtMs) return 'deadline'
    return this.#retries.take() ? undefined : 'refused'
  }

  #tell<K extends keyof PacedFetchEvents>(name: K, event: Parameters<NonNullable<PacedFetchEvents[K]>>[0]): void {
    try {
      const { on } = this.#options
      ;(on?.[name] as ((told: typeof event) => void) | undefined)?.call(on, event)
    } catch (error) {
      console.error(error)
    }
  }
}

interface Answer {
  readonly response: Response
  readonly limits: RateLimits
  readonly waitMs: number
}

/** isRefusal says whether an answer is about limits: 429, 503 with a time to come back, and 403 as GitHub has it. */
function isRefusal({ status }: Response, { retryAfterMs, budgets }: RateLimits): boolean {
  if (status === 429) return true
  if (status === 503) return retryAfterMs !== undefined
  return status === 403 && (retryAfterMs !== undefined || budgets.some(({ remaining }) => remaining === 0))
}

/** pauseOf is how long to wait after a refusal: as the server says, else longer each time. */
function pauseOf({ retryAfterMs, budgets }: RateLimits, attempt: number): number {
  const resets = budgets.flatMap(({ remaining, resetMs }) =>
    remaining === 0 && resetMs !== undefined ? [resetMs] : [],
  )
  const toldMs = retryAfterMs ?? (resets.length > 0 ? Math.max(...resets) : undefined)
  return toldMs === undefined ? backoffMs(attempt, Math.random()) : jittered(toldMs, Math.random())
}
