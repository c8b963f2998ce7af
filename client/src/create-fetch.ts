import { type Call, callOf } from './call.ts'
import { type GiveUpReason, RateLimitError, responseOf } from './errors.ts'
import { Lane, now } from './lane.ts'
import {
  checkOptions,
  FETCH_KINDS,
  type FetchInput,
  type PacedFetch,
  type PacedFetchOptions,
  type PacedInit,
} from './options.ts'
import { parseRateLimits, type RateLimits } from './rate-limits.ts'
import { RetryBudget } from './retries.ts'

const MAX_LANES = 1_000

/**
 * Wraps fetch so that it keeps to the limits that servers announce: it spreads calls over the remaining budget, waits
 * as instructed, and retries refused calls, within a deadline and a share of the traffic. A call that is given up
 * resolves with the refusal, as it does with the fetch that is wrapped.
 */
export function createFetch(options: PacedFetchOptions = {}): PacedFetch {
  checkOptions(options, FETCH_KINDS)
  const { retries = 5, retryShare = 0.2, maxWaiting = 10_000, on = {}, share } = options
  const lanes = new Map<string, Lane>()
  const budget = new RetryBudget()
  const counts = { calls: 0, sent: 0, refused: 0, retried: 0, gaveUp: 0 }
  share?.hear(({ lane: name, budgets, pauseMs }) => {
    const lane = laneOf(name)
    lane.pacer.update(now(), budgets)
    lane.pacer.pause(now(), pauseMs)
    lane.look()
  })

  /** Finds where calls wait. Forgets the least recently used lane when there are many. */
  function laneOf(name: string): Lane {
    const lane = lanes.get(name) ?? new Lane(options.throttle?.())
    if (!lanes.delete(name) && lanes.size >= MAX_LANES) {
      for (const [other, { isIdle }] of lanes) {
        if (!isIdle) continue
        lanes.delete(other)
        break
      }
    }
    lanes.set(name, lane)
    return lane
  }

  /** Waits for its turn, and sends. */
  async function attempt(call: Call, lane: Lane): Promise<Response> {
    if (!lane.pacer.isPaced && lane.throttle?.mayGo(now(), Math.random()) === false) {
      throw new RateLimitError('throttled', 'the server has refused too many requests')
    }
    const askedMs = now()
    await lane.enter(call, maxWaiting)
    counts.sent++
    const waitedMs = now() - askedMs
    if (waitedMs >= 1) notify(() => on.waited?.({ url: call.url.href, waitedMs }))
    try {
      return await call.send()
    } catch (error) {
      lane.pacer.failed(call.cost)
      lane.look()
      // Fetch may wrap the reason in another error.
      call.signal.throwIfAborted()
      throw error
    }
  }

  /** Sends a call until it is answered or given up. What is learnt counts for all calls to the same server. */
  async function attempts(call: Call): Promise<Response> {
    const lane = laneOf(call.laneName)
    for (let again = 0; ; again++) {
      const response = await attempt(call, lane)
      if (!again) budget.called(retryShare)
      const { status } = response
      const limits = parseRateLimits(response.headers)
      const isRefused = isRefusal(status, limits)
      const pauseMs = lane.pacer.answered(now(), call.cost, limits, isRefused)
      if (!isRefused && status !== 503) lane.throttle?.accepted(now())
      share?.publish({ lane: call.laneName, budgets: limits.budgets, pauseMs })
      lane.look()
      if (!isRefused) return response
      counts.refused++
      const reason = reasonToGiveUp(call, limits, again, pauseMs)
      notify(() => on.refused?.({ url: call.url.href, status, retryInMs: reason ? undefined : pauseMs }))
      if (reason) throw new RateLimitError(reason, `${call.url.host} answered ${status}`, pauseMs, response)
      counts.retried++
      // It is not read; one that is already broken does not matter.
      response.body?.cancel().catch(() => {})
    }
  }

  function reasonToGiveUp(call: Call, limits: RateLimits, again: number, waitMs: number): GiveUpReason | undefined {
    if (!call.isRepeatable() || limits.shouldRetry === false || again >= retries) return 'refused'
    if (now() + waitMs > call.deadlineAtMs) return 'deadline'
    return budget.take() ? undefined : 'refused'
  }

  async function paced(input: FetchInput, init: PacedInit = {}): Promise<Response> {
    const call = callOf(options, counts.calls++, input, init)
    try {
      return await attempts(call)
    } catch (error) {
      if (!(error instanceof RateLimitError)) throw error
      counts.gaveUp++
      if (options.throwOnGiveUp || error.reason === 'timeout') throw error
      return responseOf(error)
    } finally {
      call.end()
    }
  }

  return Object.assign(paced, {
    counts: () => {
      let waiting = 0
      for (const lane of lanes.values()) waiting += lane.waiting
      return { ...counts, waiting }
    },
    close: () => share?.close(),
  })
}

function notify(hook: () => void): void {
  try {
    hook()
  } catch (error) {
    console.error(error)
  }
}

/** Returns whether an answer is about limits: 429, 503 with a retry time, and 403 as GitHub has it. */
function isRefusal(status: number, { retryAfterMs, budgets }: RateLimits): boolean {
  if (retryAfterMs !== undefined && (status === 503 || status === 403)) return true
  return status === 429 || (status === 403 && budgets.some(({ remaining }) => remaining === 0))
}
