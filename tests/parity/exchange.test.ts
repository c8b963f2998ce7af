import { isDeepStrictEqual } from 'node:util'
import { createClient, RESP_TYPES } from '@redis/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seededRandom } from '../../src/core/algorithms/oracle.suite.ts'
import type { Verdict } from '../../src/core/decision.ts'
import { compileLimit, type Limit, type LimitOptions } from '../../src/core/limit.ts'
import type { Charge, SliceReply, SliceRequest } from '../../src/engine/ports.ts'
import { LendingMemoryStore } from '../../src/stores/lending/lending-memory-store.ts'
import { bookKey, decodeReplies, encodeExchanges } from '../../src/stores/redis/formats/exchange-format.ts'
import { LimitTexts } from '../../src/stores/redis/formats/limit-texts.ts'
import { decodeVerdicts, encodeGroups } from '../../src/stores/redis/formats/wire-format.ts'
import { loadScript } from '../../src/stores/redis/scripts/scripts.ts'
import { sharedRedis } from '../servers/shared.ts'

const LIMITS: readonly LimitOptions[] = [
  { limit: 40, window: '10s' },
  { limit: 30, window: '10s', subWindows: 5 },
  { algorithm: 'fixed_window', limit: 25, window: '5s' },
  { algorithm: 'fixed_window', limit: 25, calendar: { unit: 'day', timeZone: 'Asia/Kathmandu' } },
  { algorithm: 'sliding_log', limit: 20, window: '8s' },
  { algorithm: 'token_bucket', limit: 50, window: '10s', burst: 20 },
  { algorithm: 'gcra', limit: 50, window: '10s', burst: 20 },
]
const LEASE_MS = 500
const START_MS = 1_800_000_000_000

const script = loadScript('exchange')
let client: ReturnType<typeof createClient>
let prefix: string
let sequences = 0

beforeAll(async () => {
  const redis = await sharedRedis()
  prefix = `exchange:${process.pid}:${Date.now()}`
  client = createClient({ url: redis.url })
  await client.connect()
  await client.sendCommand(['SCRIPT', 'LOAD', script.source])
})
afterAll(() => client.close())

async function send(requests: readonly SliceRequest[], nowMs: number): Promise<readonly SliceReply[]> {
  const { keys, args } = encodeExchanges(requests, new LimitTexts(() => nowMs), nowMs)
  const command = ['EVALSHA', script.sha, String(keys.length), ...keys, ...args]
  const reply = await client.sendCommand(command, { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } })
  return (decodeReplies(reply, requests) ?? []).filter((one) => one !== undefined)
}

/** Makes what a few holders, some of them forgetful, might send. */
function* randomRequests(key: string, limit: Limit, seed: number): Generator<[SliceRequest, number]> {
  const random = seededRandom(seed)
  const below = (count: number): number => Math.floor(random() * count)
  const holders = Array.from({ length: 4 }, (_, i) => ({ name: `h${i}`, sequence: 0, spent: 0, confirmed: 0, held: 0 }))
  let nowMs = START_MS
  for (let i = 0; i < 60; i++) {
    const dice = below(10)
    if (dice < 5) nowMs += below(200)
    else if (dice < 6) nowMs += below(limit.calendar ? 40_000_000 : 2 * limit.windowMs)
    else if (dice < 7) nowMs -= below(3_000)
    const holder = holders[below(holders.length)]
    if (below(12) === 0) holder.sequence -= 2
    const spends = below(holder.held + 1)
    holder.spent += spends
    const keep = below(holder.held - spends + 1)
    const request: SliceRequest = {
      key,
      limit,
      holder: holder.name,
      sequence: ++holder.sequence,
      spent: holder.spent,
      confirmed: holder.confirmed,
      keep,
      need: below(5),
      ahead: below(10),
      cost: 1 + below(3),
      leaseMs: LEASE_MS,
      timeoutMs: 5,
    }
    holder.held = keep + below(4)
    if (below(3) > 0) holder.confirmed = holder.spent
    yield [request, nowMs]
  }
}

describe('the script lends as the book does, in every field', () => {
  it.each(LIMITS)('%o', async (options) => {
    const limit = compileLimit(options)
    for (let seed = 1; seed <= (limit.calendar ? 3 : 15); seed++) {
      const time = { nowMs: START_MS }
      const memory = new LendingMemoryStore({ clock: { nowMs: () => time.nowMs } })
      const key = `${prefix}:${sequences++}`
      const calls: [SliceReply, Promise<readonly SliceReply[]>, SliceRequest][] = []
      for (const [request, nowMs] of randomRequests(key, limit, seed)) {
        time.nowMs = nowMs
        calls.push([memory.exchange(request), send([request], nowMs), request])
      }
      for (const [at, [expected, call, request]] of calls.entries()) {
        const [actual] = await call
        if (isDeepStrictEqual(actual, expected)) continue
        expect.fail(`seed ${seed}, exchange ${at}: ${JSON.stringify([request, actual, expected], null, 1)}`)
      }
    }
  })
})

describe('the script decides in the presence of loans as the memory store does, in every field', () => {
  const decide = loadScript('decide')
  const ask = async (charges: readonly Charge[], nowMs: number): Promise<readonly Verdict[]> => {
    const groups = [{ charges, permits: undefined }]
    const { keys, args } = encodeGroups(groups, new LimitTexts(() => nowMs), nowMs)
    const command = ['EVAL', decide.source, String(keys.length), ...keys, ...args]
    const reply = await client.sendCommand(command, { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } })
    return decodeVerdicts(reply, groups)?.[0] ?? []
  }
  const policy = { consistency: 'leased', onStoreFailure: 'open', localShare: 1, timeoutMs: 5 } as const

  it.each(LIMITS)('%o', async (options) => {
    const limit = compileLimit(options)
    const other = compileLimit({ limit: 45, window: '10s' })
    const seen = { fits: 0, refused: 0, lent: 0, due: 0 }
    for (let seed = 1; seed <= (limit.calendar ? 3 : 9); seed++) {
      const random = seededRandom(seed + 1_000)
      const time = { nowMs: START_MS }
      const memory = new LendingMemoryStore({ clock: { nowMs: () => time.nowMs } })
      const key = `${prefix}:${sequences++}`
      let probes = 0
      let laterMs = 0
      for (const [request, atMs] of randomRequests(key, limit, seed)) {
        time.nowMs = atMs + laterMs
        expect(await send([request], time.nowMs)).toEqual([memory.exchange(request)])
        const charge = { key, limit, cost: Math.floor(random() * 7), enforce: true, policy }
        const beside = { key: `${key}:beside`, limit: other, cost: 1, enforce: true }
        const charges = random() < 0.5 ? [charge] : [charge, beside]
        laterMs += random() < 0.7 ? 0 : Math.floor(random() * 3 * LEASE_MS)
        time.nowMs = atMs + laterMs
        let said = await ask(charges, time.nowMs)
        if (said.some(({ lent }) => lent)) {
          // What has run out is settled by an exchange, and may be what was in the way.
          seen.due++
          const probe = { ...request, holder: `probe${probes++}`, spent: 0, confirmed: 0, keep: 0, need: 0, ahead: 0 }
          expect(await send([probe], time.nowMs)).toEqual([memory.exchange(probe)])
          said = await ask(charges, time.nowMs)
        }
        expect(said).toEqual(memory.decide(charges))
        seen[said[0].lent ? 'lent' : said[0].allowed ? 'fits' : 'refused']++
      }
    }
    for (const [kind, times] of Object.entries(seen)) expect(times, kind).toBeGreaterThan(0)
  })
})

describe('a book', () => {
  const limit = compileLimit({ limit: 100, window: '1m' })
  const request = (key: string, change: Partial<SliceRequest> = {}): SliceRequest => ({
    key,
    limit,
    holder: 'h',
    sequence: 1,
    spent: 0,
    confirmed: 0,
    keep: 0,
    need: 1,
    ahead: 0,
    cost: 1,
    leaseMs: LEASE_MS,
    timeoutMs: 5,
    ...change,
  })

  it('takes exchanges of one call in order, on counters that are named more than once', async () => {
    const [one, other] = [`${prefix}:one`, `${prefix}:other`]
    const replies = await send(
      [
        request(one, { need: 60 }),
        request(other, { need: 70 }),
        request(one, { holder: 'i', need: 60 }),
        request(one, { sequence: 2, spent: 60, need: 1 }),
      ],
      START_MS,
    )
    expect(replies.map(({ held }) => held)).toEqual([60, 70, 40, 0])
  })

  it('lives as long as a charge of what it lent may matter, and no longer', async () => {
    const key = `${prefix}:alive`
    const { keys, args } = encodeExchanges([request(key)], new LimitTexts())
    await client.sendCommand(['EVALSHA', script.sha, String(keys.length), ...keys, ...args])
    const leftMs = Number(await client.sendCommand(['PTTL', bookKey(`${key}|${limit.shape}`)]))
    expect(leftMs).toBeLessThanOrEqual(2 * LEASE_MS + 120_000)
    expect(leftMs).toBeGreaterThan(60_000)
  })
})
