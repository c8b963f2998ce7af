import { describe, expect, it, vi } from 'vitest'
import { createFetch } from '../../client/src/index.ts'
import { EventClock } from './event-clock.suite.ts'

// Servers that announce no limit, or not the one that refuses: GitHub's secondary limits, Stripe, most login forms. A client can only learn
// from what was refused. Compared with a client that knows the limit and spreads its calls evenly.

interface Api {
  /** Returns undefined where it admits, and otherwise how long until it would. */
  admit(nowMs: number): number | undefined
  /** Calls a second that it admits over a long time. */
  readonly perSecond: number
  readonly windowMs: number
}

function fixedWindow(limit: number, windowMs: number, offsetMs = 0): Api {
  let window = -1
  let count = 0
  return {
    perSecond: (limit * 1_000) / windowMs,
    windowMs,
    admit: (nowMs) => {
      const at = Math.floor((nowMs + offsetMs) / windowMs)
      if (at !== window) [window, count] = [at, 0]
      return count++ < limit ? undefined : (at + 1) * windowMs - nowMs - offsetMs
    },
  }
}

function slidingLog(limit: number, windowMs: number): Api {
  let log: number[] = []
  return {
    perSecond: (limit * 1_000) / windowMs,
    windowMs,
    admit: (nowMs) => {
      log = log.filter((atMs) => atMs > nowMs - windowMs)
      if (log.length >= limit) return log[0] + windowMs - nowMs
      log.push(nowMs)
      return undefined
    },
  }
}

function tokenBucket(perSecond: number, burst: number): Api {
  let tokens = burst
  let atMs = 0
  return {
    perSecond,
    windowMs: 1_000,
    admit: (nowMs) => {
      tokens = Math.min(burst, tokens + ((nowMs - atMs) * perSecond) / 1_000)
      atMs = nowMs
      if (tokens < 1) return ((1 - tokens) * 1_000) / perSecond
      tokens--
      return undefined
    },
  }
}

/** How a refusal is answered, from how long it would be until the server admits. */
type Refuse = (waitMs: number) => readonly [status: number, fields: Record<string, string>]

const bare: Refuse = () => [429, {}]
const inSeconds: Refuse = (waitMs) => [429, { 'Retry-After': `${Math.ceil(waitMs / 1_000)}` }]
/** GitHub announces what is left of the hour, and refuses because of another limit. */
const PRIMARY = { 'X-RateLimit-Limit': '5000', 'X-RateLimit-Remaining': '4900', 'X-RateLimit-Reset': '3000' }
const asGitHub: Refuse = (waitMs) => [403, { ...PRIMARY, 'Retry-After': `${Math.ceil(waitMs / 1_000)}` }]

const TRIP_MS = 40

async function run(api: Api, refuse: Refuse, calls: number) {
  seedRandom()
  const clock = new EventClock()
  const refusedMs: number[] = []
  const okFields = refuse === asGitHub ? PRIMARY : {}
  let inFlight = 0
  let mostInFlight = 0
  let isLearned = false
  const fetch = async (): Promise<Response> => {
    inFlight++
    if (!isLearned) mostInFlight = Math.max(mostInFlight, inFlight)
    await clock.wait(TRIP_MS / 2)
    const waitMs = api.admit(clock.nowMs)
    if (waitMs !== undefined) refusedMs.push(clock.nowMs)
    const [status, headers] = waitMs === undefined ? [200, okFields] : refuse(waitMs)
    await clock.wait(TRIP_MS / 2)
    inFlight--
    isLearned ||= status !== 200
    return new Response(null, { status, headers })
  }
  const paced = createFetch({ fetch, deadlineMs: 600_000 })
  const ends = Array.from({ length: calls }, () => paced('https://api.example/'))
  const statuses = await clock.until(Promise.all(ends).then((all) => all.map(({ status }) => status)))
  const knowingMs = ((calls - 1) * 1_000) / api.perSecond + TRIP_MS
  return { statuses, refusedMs, mostInFlight, endMs: clock.nowMs, ratio: clock.nowMs / knowingMs }
}

const CASES: readonly (readonly [string, () => Api, Refuse, number])[] = [
  ['20 a second in fixed windows, a bare 429', () => fixedWindow(20, 1_000), bare, 60],
  ['20 a second in fixed windows that began before', () => fixedWindow(20, 1_000, 700), bare, 200],
  ['25 a second by a bucket, a bare 429', () => tokenBucket(25, 25), bare, 200],
  ['25 a second by a bucket of 100', () => tokenBucket(25, 100), bare, 400],
  ['100 a second by a log, a bare 429', () => slidingLog(100, 1_000), bare, 1_000],
  ['15 a second, as GitHub says it', () => fixedWindow(15, 1_000), asGitHub, 60],
  ['60 in 5 seconds, as GitHub says it', () => fixedWindow(60, 5_000), asGitHub, 300],
  ['80 a minute, as GitHub says it', () => fixedWindow(80, 60_000), asGitHub, 240],
  ['10 a second by a log, Retry-After', () => slidingLog(10, 1_000), inSeconds, 60],
  ['50 a second by a bucket, Retry-After', () => tokenBucket(50, 50), inSeconds, 300],
  ['300 a minute, a bare 429', () => slidingLog(300, 60_000), bare, 900],
]

/** The same jitter in every run. */
function seedRandom(): void {
  let state = 1
  vi.spyOn(Math, 'random').mockImplementation(() => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return state / 2 ** 32
  })
}

describe('a limit that is not announced', () => {
  it.each(CASES)('is learned from the first refusal: %s', async (_, make, refuse, calls) => {
    const api = make()
    const { statuses, refusedMs, ratio, endMs, mostInFlight } = await run(api, refuse, calls)
    expect(new Set(statuses)).toEqual(new Set([200]))
    expect(ratio).toBeLessThan(1.3)
    // What was in flight at the first refusal was refused with it. After that, at most one for each window.
    const later = refusedMs.filter((atMs) => atMs > refusedMs[0] + TRIP_MS)
    expect(refusedMs.length - later.length).toBeLessThanOrEqual(mostInFlight)
    expect(later.length).toBeLessThanOrEqual(endMs / Math.min(api.windowMs, 1_000))
  })

  it('is learned again where it becomes stricter', async () => {
    const strict = fixedWindow(10, 1_000)
    const loose = fixedWindow(50, 1_000)
    const api = { ...strict, admit: (nowMs: number) => (nowMs < 5_000 ? loose : strict).admit(nowMs) }
    const { statuses, refusedMs, endMs } = await run(api, bare, 350)
    expect(new Set(statuses)).toEqual(new Set([200]))
    expect(refusedMs.filter((atMs) => atMs > 5_000).length).toBeLessThan(12)
    // 5 s, and ten seconds for the last hundred.
    expect(endMs).toBeLessThan(25_000)
  })

  it('is tried again a little higher, and found where it becomes looser', async () => {
    const api = { ...fixedWindow(10, 1_000) }
    const loose = fixedWindow(100, 1_000)
    const { endMs, statuses } = await run(
      { ...api, admit: (nowMs) => (nowMs < 5_000 ? api : loose).admit(nowMs) },
      bare,
      2_000,
    )
    expect(new Set(statuses)).toEqual(new Set([200]))
    // At ten a second it would take 200 s.
    expect(endMs).toBeLessThan(80_000)
  })
})
