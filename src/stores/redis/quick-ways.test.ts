import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sharedRedis } from '../../../tests/servers/shared.ts'
import { seededRandom } from '../../core/algorithms/oracle.suite.ts'
import { compileLimit, type LimitOptions } from '../../core/limit.ts'
import type { Charge } from '../../engine/ports.ts'
import { headKey } from './formats/exchange-format.ts'
import { LimitTexts } from './formats/limit-texts.ts'
import { decideFormat, encodeGroups, type Group } from './formats/wire-format.ts'
import { packedHead } from './heads.suite.ts'
import { RespClient } from './resp/resp-client.ts'

const NOW_MS = 1_780_000_000_000
const LEASED = { consistency: 'leased', onStoreFailure: 'open', localShare: 1 } as const
const STEPS = 60

let redis: RespClient
beforeAll(async () => {
  const { port } = (await sharedRedis()).address
  redis = await RespClient.open({ at: { host: '127.0.0.1', port }, tls: false })
  const { asFunction } = decideFormat.script
  await redis.call(['FUNCTION', 'LOAD', 'REPLACE', String(asFunction?.library)])
})
afterAll(() => redis.destroy())

/** A Way is how groups are decided: by the function, which has quick ways, or by the script, which has none. */
type Way = 'function' | 'script'

async function decide(way: Way, groups: readonly Group[], nowMs: number): Promise<unknown> {
  const texts = new LimitTexts()
  const isFunction = way === 'function'
  const { keys, args } = isFunction ? decideFormat.encode(groups, texts, nowMs) : encodeGroups(groups, texts, nowMs)
  const what = isFunction
    ? ['FCALL', String(decideFormat.script.asFunction?.name)]
    : ['EVAL', decideFormat.script.source]
  return decideFormat.decode(await redis.call([...what, String(keys.length), ...keys, ...args]), groups)
}

/** Budgets of a few hits and of many: both the ends of a budget and long runs within it. */
const OPTIONS: readonly LimitOptions[] = [
  { limit: 6, window: '10s' },
  { limit: 1_000, window: '7s' },
  { limit: 9, window: '10s', countDenied: true },
  { algorithm: 'fixed_window', limit: 9, window: '10s' },
  { algorithm: 'fixed_window', limit: 9, window: '10s', anchor: 'first_hit' },
  { algorithm: 'fixed_window', limit: 9, calendar: { unit: 'day', timeZone: 'Europe/Berlin' } },
  { algorithm: 'token_bucket', limit: 7, window: '3s', burst: 11 },
  { algorithm: 'token_bucket', limit: 9, window: '10s', countDenied: true },
  { algorithm: 'gcra', limit: 7, window: '3s', burst: 11 },
  { algorithm: 'gcra', limit: 9, window: '10s', countDenied: true },
  { algorithm: 'leaky_bucket', limit: 7, window: '3s' },
  { limit: 4_294_967_295, window: '3650d' },
]
const COSTS = [1, 1, 1, 1, 2, 3, 5, 0, -1, -4]
const STEPS_MS = [0, 1, 3, 40, 333, 900, 2_500, 9_999, 21_000, -700]

describe('a function decides as the script does, which has no quick ways:', () => {
  for (const options of OPTIONS)
    it.each([1, 2, 3, 12])(`${JSON.stringify(options)}, up to %d groups in a call`, async (mostGroups) => {
      const random = seededRandom(mostGroups)
      const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]
      const name = randomUUID()
      const limits = [compileLimit(options), compileLimit({ limit: 8, window: '20s' })]
      let nowMs = NOW_MS
      /** Few names, so that a call has the same counter more than once. */
      const chargeOf = (limit: Charge['limit'], key: number): Charge => {
        const [enforce, cost, isLate] = [random() < 0.9, pick(COSTS), random() < 0.05]
        const policy = random() < 0.4 && { policy: LEASED }
        return { key: `${name}:${key}`, limit, cost, enforce, ...policy, ...(isLate && cost > 0 && { debit: true }) }
      }
      /** Has something out of a counter, or nothing any more, as both ways find it. */
      const lend = async (): Promise<void> => {
        const [limit, key, out] = [pick(limits), Math.floor(random() * 3), Math.floor(random() * 6)]
        for (const way of ['function', 'script']) {
          const head = headKey(new LimitTexts().keyOf(`${name}:${key}:${way}`, limit))
          await redis.call(out === 0 ? ['DEL', head] : ['SET', head, packedHead(out - 1, nowMs)])
        }
      }
      const groupOf = (): Group => {
        const [first, second] = limits
        const key = Math.floor(random() * 3)
        const charges = [chargeOf(first, key)]
        if (random() < 0.5) charges.push(chargeOf(second, key))
        if (random() < 0.2) charges.push(chargeOf(first, (key + Math.floor(random() * 2)) % 3))
        return { charges, permits: undefined }
      }
      const on = (way: Way, groups: readonly Group[]): Group[] =>
        groups.map(({ charges }) => ({
          charges: charges.map((charge) => ({ ...charge, key: `${charge.key}:${way}` })),
          permits: undefined,
        }))
      for (let step = 0; step < STEPS; step++) {
        nowMs += pick(STEPS_MS)
        if (random() < 0.3) await lend()
        const groups = Array.from({ length: 1 + Math.floor(random() * mostGroups) }, groupOf)
        const [quick, slow] = [on('function', groups), on('script', groups)]
        const what = `step ${step}: ${JSON.stringify(groups.map(({ charges }) => charges.map(({ key, cost }) => [key, cost])))}`
        expect(await decide('function', quick, nowMs), what).toEqual(await decide('script', slow, nowMs))
        const texts = new LimitTexts()
        const keysOf = (all: readonly Group[]): string[] =>
          all.flatMap(({ charges }) => charges.map(({ key, limit }) => texts.keyOf(key, limit)))
        expect(await redis.call(['MGET', ...keysOf(quick)]), what).toEqual(await redis.call(['MGET', ...keysOf(slow)]))
      }
    })

  it('keeps the expiry of a window, and moves that of a bucket', async () => {
    const texts = new LimitTexts()
    const name = randomUUID()
    for (const [options, isMoved] of [
      [{ limit: 100, window: '1h' }, false],
      [{ algorithm: 'fixed_window', limit: 100, window: '1h' }, false],
      [{ algorithm: 'token_bucket', limit: 100, window: '1h' }, true],
      [{ algorithm: 'gcra', limit: 100, window: '1h' }, true],
    ] as const) {
      const charge: Charge = { key: name, limit: compileLimit(options), cost: 40, enforce: true }
      const groups = [{ charges: [charge], permits: undefined }]
      const endOf = async () => Number(await redis.call(['PEXPIRETIME', texts.keyOf(name, charge.limit)]))
      await decide('function', groups, NOW_MS)
      const end = await endOf()
      await decide('function', groups, NOW_MS)
      expect((await endOf()) > end, options.algorithm ?? 'sliding_window').toBe(isMoved)
    }
  })
})
