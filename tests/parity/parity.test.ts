import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { createClient, RESP_TYPES } from '@redis/client'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { jumpySchedules, KIND_NAMES, KINDS, type Kind, play } from '../../src/core/algorithms/arbitraries.suite.ts'
import { REGRESSIONS } from '../../src/core/algorithms/regressions.suite.ts'
import type { Schedule } from '../../src/core/algorithms/schedule.suite.ts'
import type { Verdict } from '../../src/core/decision.ts'
import { KeyedHash } from '../../src/core/hash.ts'
import { compileLimit, type Limit, type LimitOptions, MAX_COUNT } from '../../src/core/limit.ts'
import { type CounterState, step } from '../../src/core/step.ts'
import { LimitTexts } from '../../src/stores/redis/formats/limit-texts.ts'
import { CompactKeys, readableKeys, type StoredKeys } from '../../src/stores/redis/formats/stored-keys.ts'
import { decodeVerdicts, encodeGroups, type Group } from '../../src/stores/redis/formats/wire-format.ts'
import { loadScript } from '../../src/stores/redis/scripts/scripts.ts'
import { NEW_SEEDS } from '../seeds/seeds.ts'
import { sharedRedis } from '../servers/shared.ts'
import { CASES } from './cases.suite.ts'

const SEQUENCES = 150
const SEEDS = [1, 2, ...NEW_SEEDS]
/** The script adds this to the life of keys when it is told the time, which does not pass as the server's does. */
const GRACE_MS = 600_000

const READABLE = readableKeys('')
const COMPACT: StoredKeys = new CompactKeys(new KeyedHash(17, 42), '', false)

const script = loadScript('decide')
const prefix = `parity:${randomBytes(6).toString('hex')}`
let client: Awaited<ReturnType<typeof connect>>

async function connect() {
  const { url } = await sharedRedis()
  return await createClient({ url, RESP: 2, commandOptions: { timeout: 60_000 } })
    .on('error', () => {})
    .connect()
}

beforeAll(async () => {
  client = await connect()
  await client.sendCommand(['SCRIPT', 'LOAD', script.source])
})
afterAll(() => client.destroy())

interface Move {
  readonly nowMs: number
  readonly cost: number
}

/** A Sequence is the requests to one counter, and what the algorithms say to them. */
interface Sequence {
  readonly key: string
  readonly limit: Limit
  readonly moves: readonly Move[]
  readonly verdicts: readonly Verdict[]
  readonly state: CounterState | undefined
}

let sequences = 0

/** Runs a schedule through step(). What a look finds is not kept; places are taken, never refunded. */
function expectedOf(options: LimitOptions, schedule: Schedule): Sequence {
  const limit = compileLimit(options)
  const moves = [...play(limit, schedule)].map(({ nowMs, cost }) => ({ nowMs, cost }))
  let state: CounterState | undefined
  const verdicts = moves.map(({ nowMs, cost }) => {
    const next = step(state, limit, nowMs, cost)
    if (limit.algorithm === 'concurrency' ? cost > 0 : cost !== 0) state = next.state
    return next.verdict
  })
  return { key: `${prefix}:${sequences++}`, limit, moves, verdicts, state }
}

/** Sends the moves without waiting: those of one moment as one call, as a batch would have them. */
function send({ key, limit, moves }: Sequence, keys?: StoredKeys): Promise<Verdict[]>[] {
  const calls: Promise<Verdict[]>[] = []
  for (let from = 0; from < moves.length; ) {
    const { nowMs } = moves[from]
    let to = from
    while (to < moves.length && moves[to].nowMs === nowMs) to++
    const groups = moves.slice(from, to).map(
      ({ cost }): Group => ({
        charges: [{ key, limit, cost, enforce: true }],
        permits: limit.algorithm === 'concurrency' ? randomBytes(8) : undefined,
      }),
    )
    calls.push(run(groups, nowMs, keys))
    from = to
  }
  return calls
}

async function run(groups: readonly Group[], nowMs?: number, names = READABLE): Promise<Verdict[]> {
  const texts = new LimitTexts(nowMs === undefined ? Date.now : () => nowMs, names)
  const { keys, args } = encodeGroups(groups, texts, nowMs)
  const command = ['EVALSHA', script.sha, String(keys.length), ...keys, ...args]
  const reply = await client.sendCommand(command, { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } })
  return (decodeVerdicts(reply, groups) ?? []).flatMap((verdicts) => verdicts ?? [])
}

/** Compares what the script said to a sequence, and what it left, with what the algorithms say. */
async function check(sequence: Sequence, options: LimitOptions, seed: number, keys = READABLE): Promise<void> {
  const calls = send(sequence, keys)
  const ttl = client.sendCommand(['PTTL', keys.of(`${sequence.key}|${sequence.limit.shape}`)])
  const actual = (await Promise.all(calls)).flat()
  const at = sequence.verdicts.findIndex((verdict, i) => !isDeepStrictEqual(actual[i], verdict))
  const story = [`seed ${seed}: ${JSON.stringify(options)}`, JSON.stringify(sequence.moves)]
  if (at >= 0) {
    const [said, expected] = [actual[at], sequence.verdicts[at]].map((verdict) => JSON.stringify(verdict))
    throw new Error([...story, `at move ${at} the script says ${said}`, `and step() ${expected}`].join('\n'))
  }
  const leftMs = Number(await ttl)
  // A window that the clock was set back from begins a millisecond later.
  const longestMs = 1 + 2 * (sequence.limit.windowMs + longestFillMs(sequence.limit)) + GRACE_MS
  const isThere = leftMs > 0 && leftMs <= longestMs
  if (sequence.state === undefined ? leftMs !== -2 : !isThere) {
    throw new Error([...story, `PTTL ${leftMs}, state ${JSON.stringify(sequence.state)}`].join('\n'))
  }
}

const longestFillMs = ({ fullUnits, unitsPerMs }: Limit) => (unitsPerMs === 0 ? 0 : fullUnits / unitsPerMs)

async function checkSeed(kind: Kind, seed: number, keys?: StoredKeys): Promise<void> {
  const samples = fc.sample(fc.tuple(KINDS[kind], jumpySchedules), { seed, numRuns: SEQUENCES })
  await Promise.all(samples.map(([options, schedule]) => check(expectedOf(options, schedule), options, seed, keys)))
}

describe('the script says what the algorithms say, in every field', () => {
  describe.each(KIND_NAMES)('%s', (kind) => {
    // A failure prints its case, which belongs into cases.suite.ts.
    it.each(SEEDS)('over random sequences of seed %i, and leaves a key as long as it is worth something', (seed) =>
      checkSeed(kind, seed),
    )

    it('in the cases that failed once', async () => {
      const cases = [...(REGRESSIONS[kind] ?? []), ...(CASES[kind] ?? [])]
      await Promise.all(cases.map(([options, schedule]) => check(expectedOf(options, schedule), options, 0)))
    })
  })
})

describe('the script says the same of compact counters', () => {
  describe.each(['sliding_window', 'fixed_window'] as const)('%s', (kind) => {
    it.each(SEEDS)('over random sequences of seed %i', (seed) => checkSeed(kind, seed, COMPACT))

    it('in the cases that failed once', async () => {
      const cases = [...(REGRESSIONS[kind] ?? []), ...(CASES[kind] ?? [])]
      await Promise.all(cases.map(([options, schedule]) => check(expectedOf(options, schedule), options, 0, COMPACT)))
    })
  })

  it.each<[string, LimitOptions, cost: number]>([
    ['sliding_window', { limit: 1_000, window: 60_000 }, 999],
    ['sliding_window of a second', { limit: 9_999, window: 1_000 }, 9_999],
    ['sliding_window of a day', { limit: 1_000_000, window: 86_400_000 }, 999_999],
    ['fixed_window', { algorithm: 'fixed_window', limit: 99_999, window: 60_000 }, 99_999],
    ['a calendar', { algorithm: 'fixed_window', limit: 99_999, calendar: { unit: 'year' } }, 99_999],
  ])('a counter of %s is one number', async (_, options, cost) => {
    const limit = compileLimit(options)
    const key = `${prefix}:number`
    await run([{ charges: [{ key, limit, cost, enforce: true }], permits: undefined }], 1_790_000_000_000, COMPACT)
    const name = COMPACT.of(`${key}|${limit.shape}`)
    expect(await client.sendCommand(['OBJECT', 'ENCODING', name])).toBe('int')
    expect(name).toHaveLength(14)
  })

  it('counts may be as large as any', async () => {
    const limit = compileLimit({ limit: MAX_COUNT, window: 1_000 })
    const charge = { key: `${prefix}:large`, limit, enforce: true }
    const remaining = async (cost: number) =>
      (await run([{ charges: [{ ...charge, cost }], permits: undefined }], 1_790_000_000_000, COMPACT))[0].remaining
    expect(await remaining(MAX_COUNT - 1)).toBe(1)
    expect(await remaining(1)).toBe(0)
    expect(await remaining(-2)).toBe(2)
  })
})

describe('on the time of the server', () => {
  const WINDOW_MS = 3_600_000
  /** A machine may be slow, but not by that much. */
  const SLACK_MS = 60_000
  const cases: [name: string, options: LimitOptions, afterResetMs: number, sizeBytes: number][] = [
    ['sliding_window', { limit: 10, window: WINDOW_MS }, WINDOW_MS, 16],
    ['sub-windows', { limit: 10, window: WINDOW_MS, subWindows: 6 }, 0, 20],
    ['fixed_window', { algorithm: 'fixed_window', limit: 10, window: 10 * WINDOW_MS }, 0, 12],
    ['a calendar', { algorithm: 'fixed_window', limit: 10, calendar: { unit: 'year' } }, 0, 12],
    ['token_bucket', { algorithm: 'token_bucket', limit: 10, window: 10 * WINDOW_MS }, 0, 16],
    ['gcra', { algorithm: 'gcra', limit: 10, window: 10 * WINDOW_MS }, 0, 8],
    ['leaky_bucket', { algorithm: 'leaky_bucket', limit: 10, window: 10 * WINDOW_MS }, 0, 8],
    ['sliding_log', { algorithm: 'sliding_log', limit: 10, window: WINDOW_MS }, 0, 20],
    ['concurrency', { algorithm: 'concurrency', limit: 10, leaseTtl: WINDOW_MS }, 0, 36],
  ]

  it.each(cases)('a key of %s lives until it is worth nothing, in as few bytes as documented', async (...example) => {
    const [, options, afterResetMs, sizeBytes] = example
    const limit = compileLimit(options)
    const key = `${prefix}:ttl`
    const group: Group = { charges: [{ key, limit, cost: 2, enforce: true }], permits: randomBytes(8) }
    const [{ resetAfterMs }] = await run([group])
    const leftMs = Number(await client.sendCommand(['PTTL', `${key}|${limit.shape}`]))
    expect(await client.sendCommand(['STRLEN', `${key}|${limit.shape}`])).toBe(sizeBytes)
    expect(leftMs).toBeLessThanOrEqual(resetAfterMs + afterResetMs)
    expect(leftMs).toBeGreaterThan(resetAfterMs + afterResetMs - SLACK_MS)
  })

  it.each(cases.slice(0, -1))('a key of %s is gone when everything was given back', async (_, options) => {
    const limit = compileLimit(options)
    const key = `${prefix}:refund`
    for (const cost of [3, -3]) await run([{ charges: [{ key, limit, cost, enforce: true }], permits: undefined }])
    expect(await client.sendCommand(['EXISTS', `${key}|${limit.shape}`])).toBe(0)
  })

  it.each(cases)('a look at a new key of %s writes nothing', async (_, options) => {
    const limit = compileLimit(options)
    const key = `${prefix}:look`
    await run([{ charges: [{ key, limit, cost: 0, enforce: true }], permits: randomBytes(8) }])
    expect(await client.sendCommand(['EXISTS', `${key}|${limit.shape}`])).toBe(0)
  })

  it('a group may have thousands of charges', async () => {
    const limit = compileLimit({ limit: 5, window: WINDOW_MS })
    const charges = Array.from({ length: 4_000 }, (_, i) => ({
      key: `${prefix}:many:${i % 2_000}`,
      limit,
      cost: 1,
      enforce: true,
    }))
    const verdicts = await run([{ charges, permits: undefined }])
    expect(verdicts.map(({ remaining }) => remaining)).toEqual(charges.map((_, i) => (i < 2_000 ? 4 : 3)))
  })
})
