import { createClient, RESP_TYPES } from '@redis/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seededRandom } from '../../src/core/algorithms/oracle.suite.ts'
import { compileLimit } from '../../src/core/limit.ts'
import type { RateReply, RateReport } from '../../src/engine/ports.ts'
import { rateKey } from '../../src/stores/redis/formats/exchange-format.ts'
import { LimitTexts } from '../../src/stores/redis/formats/limit-texts.ts'
import { decodeRates, encodeReports } from '../../src/stores/redis/formats/sample-format.ts'
import { loadScript } from '../../src/stores/redis/scripts/scripts.ts'
import { RateBook } from '../../src/stores/sampled/rate-book.suite.ts'
import { sharedRedis } from '../servers/shared.ts'

const LIMIT = compileLimit({ limit: 10_000, window: '1s' })
const START_MS = 1_800_000_000_000

const script = loadScript('sample')
let client: ReturnType<typeof createClient>
let prefix: string

beforeAll(async () => {
  const redis = await sharedRedis()
  prefix = `sample:${process.pid}:${Date.now()}`
  client = createClient({ url: redis.url })
  await client.connect()
  await client.sendCommand(['SCRIPT', 'LOAD', script.source])
})
afterAll(() => client.close())

async function send(reports: readonly RateReport[], nowMs: number): Promise<readonly (RateReply | undefined)[]> {
  const { keys, args } = encodeReports(reports, new LimitTexts(), nowMs)
  const command = ['EVALSHA', script.sha, String(keys.length), ...keys, ...args]
  const reply = await client.sendCommand(command, { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } })
  return decodeRates(reply, reports) ?? []
}

const report = (key: string, fields: Partial<RateReport> = {}): RateReport => ({
  ...{ key, limit: LIMIT, node: 'a', offeredPerMs: 1, admitted: 0, recent: 0, refillPerMs: 10, burst: 500 },
  ...{ lifeMs: 300, timeoutMs: 1_000 },
  ...fields,
})

/** Makes batches that a few nodes, some of which do not hear the answers, might send. */
function* batches(name: string, seed: number): Generator<[RateReport[], number]> {
  const random = seededRandom(seed)
  const below = (count: number): number => Math.floor(random() * count)
  const nodes = Array.from({ length: 4 }, (_, i) => ({ name: `n${i}`, admitted: 0, confirmed: 0 }))
  let nowMs = START_MS
  for (let i = 0; i < 60; i++) {
    const dice = below(20)
    if (dice < 14) nowMs += below(120)
    else if (dice < 16) nowMs += below(3_000)
    else if (dice < 17) nowMs -= below(500)
    const reports = Array.from({ length: 1 + below(4) }, () => {
      const node = nodes[below(nodes.length)]
      node.admitted += below(300) - (below(8) === 0 ? 200 : 0)
      const recent = node.admitted - node.confirmed
      if (below(4) > 0) node.confirmed = node.admitted
      const offeredPerMs = below(64) / 4
      const key = `${name}:${below(2)}`
      return report(key, { node: node.name, offeredPerMs, admitted: node.admitted, recent, lifeMs: 300 + below(500) })
    })
    yield [reports, nowMs]
  }
}

it('the script adds up what nodes report as the book of the tests does', async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const time = { nowMs: START_MS }
    const book = new RateBook(() => time.nowMs)
    for (const [reports, nowMs] of batches(`${prefix}:${seed}`, seed)) {
      time.nowMs = nowMs
      expect(await send(reports, nowMs), `seed ${seed}`).toEqual(reports.map((each) => book.report(each)))
    }
  }
})

describe('what is stored', () => {
  const nameOf = (key: string): string => rateKey(new LimitTexts().keyOf(key, LIMIT))

  it('expires when it means nothing any more: no report stands, and the bucket is full', async () => {
    const key = `${prefix}:expires`
    const { keys, args } = encodeReports([report(key, { admitted: 500, recent: 500 })], new LimitTexts())
    await client.sendCommand(['EVALSHA', script.sha, String(keys.length), ...keys, ...args])
    const leftMs = Number(await client.sendCommand(['PTTL', nameOf(key)]))
    expect(leftMs).toBeGreaterThan(0)
    expect(leftMs).toBeLessThanOrEqual(300)
  })

  it.each([
    ['of another type', ['SET', 'something']],
    ['with a head that is none', ['HSET', '.', 'x'.repeat(32)]],
    ['with a report that is none', ['HSET', 'a', 'short']],
    ['with a report of no number', ['HSET', 'b', Buffer.from('000000000000f87f'.repeat(3), 'hex').toString('latin1')]],
  ])('is as if nothing were stored %s', async (what, [command, ...rest]) => {
    const key = `${prefix}:broken:${what}`
    await client.sendCommand([command, nameOf(key), ...rest])
    expect(await send([report(key, { admitted: 100, recent: 100 })], START_MS)).toEqual([
      { offeredPerMs: 1, level: 400 },
    ])
  })
})
