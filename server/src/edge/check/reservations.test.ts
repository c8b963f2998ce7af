import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { loadRules } from '../../../../src/core/rules/load.ts'
import { Limiter } from '../../../../src/engine/limiter.ts'
import { MemoryStore } from '../../../../src/stores/memory/memory-store.ts'
import { openStore } from '../../../../src/stores/open/open-store.ts'
import { sharedCluster, sharedRedis } from '../../../../tests/servers/shared.ts'
import { until } from '../../../../tests/servers/until.mjs'
import { ReservationTokens } from '../leases/reservation-tokens.ts'
import type { ReservingPort } from '../limiter-port.ts'
import { checkServer } from './check-server.ts'

const RULES = `domain: api
descriptors: [{ key: user, rate_limit: { algorithm: fixed_window, calendar: { unit: year }, requests_per_unit: 100 } }]
`
const about = { domain: 'api', descriptors: [{ entries: [{ key: 'user', value: 'alice' }] }] }

const rules = loadRules([{ file: 'rules', text: RULES }])

/** Answers for a limiter, and returns what posts to it. */
async function serve(limiter: ReservingPort, reservations: ReservationTokens) {
  const server = checkServer(limiter, { reservations })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return async (body: object) => {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`http://127.0.0.1:${port}/v1/check`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers,
    })
    const json = (await response.json()) as { reservation?: string; settled?: boolean; code?: string }
    return { status: response.status, left: response.headers.get('x-ratelimit-remaining'), ...json }
  }
}

const start = (now: () => number = Date.now) =>
  serve(new Limiter(() => rules, new MemoryStore()), new ReservationTokens(undefined, now))

/** Starts a node of a fleet, which shares counters and a secret. */
async function startNode(redis: string, keyPrefix: string) {
  // A machine that is busy must not make Redis look away.
  const open = openStore({ redis, keyPrefix, timeoutMs: 60_000, secret: 'of this test' })
  onTestFinished(() => open.close())
  const limiter = new Limiter(() => rules, open.store, open.parts)
  return { limiter, post: await serve(limiter, new ReservationTokens('of this test')) }
}

/** Starts two nodes, and waits until both are connected. */
async function startFleet(url: string) {
  const prefix = `${randomUUID()}:`
  return Promise.all(
    [1, 2].map(async () => {
      const { limiter, post } = await startNode(url, prefix)
      const look = async () => (await limiter.check({ ...about, cost: 0 })).verdicts[0].verdict.fallback
      await until('it is connected', async () => (await look()) === undefined)
      return post
    }),
  )
}

const SHARED = {
  Redis: async () => (await sharedRedis()).url,
  'a Redis Cluster': async () => {
    const masters = await (await sharedCluster()).masters()
    return `redis+cluster://${masters.map(({ url }) => new URL(url).host).join()}`
  },
}

describe.each(Object.entries(SHARED))('nodes with %s', (_, urlOf) => {
  it('settle what another has reserved, once', async () => {
    const [here, there] = await startFleet(await urlOf())
    const { status, reservation, left } = await here({ ...about, reserve: 30 })
    expect([status, left]).toEqual([200, '70'])
    const all = await Promise.all([here, there, here, there].map((post) => post({ settle: reservation, cost: 5 })))
    expect(all.filter(({ settled }) => settled)).toHaveLength(1)
    expect(await here({ ...about, cost: 0 })).toMatchObject({ left: '95' })
    expect(await there({ ...about, cost: 0 })).toMatchObject({ left: '95' })
  })

  it('carry a debt over for each other', async () => {
    const [here, there] = await startFleet(await urlOf())
    const { reservation } = await here({ ...about, reserve: 1 })
    expect(await there({ settle: reservation, cost: 100_000 })).toMatchObject({ settled: true })
    expect(await here({ ...about })).toMatchObject({ status: 429, left: '0' })
  })
})

describe('without Redis', () => {
  it('an estimate is charged in the process, and nothing is settled', async () => {
    const { post } = await startNode('redis://127.0.0.1:1', '')
    expect(await post({ ...about, reserve: 30 })).toMatchObject({ status: 200, left: '70' })
    const [shared] = await startFleet((await sharedRedis()).url)
    const { reservation } = await shared({ ...about, reserve: 30 })
    expect(await post({ settle: reservation, cost: 0 })).toMatchObject({ status: 200, settled: false })
    expect(await post({ ...about, cost: 0 })).toMatchObject({ left: '70' })
  })
})

describe('reserve and settle of POST /v1/check', () => {
  it.each<[cost: number, left: string]>([
    [5, '95'],
    [30, '70'],
    [80, '20'],
    [0, '100'],
  ])('charges an estimate of 30, and in the end %i', async (cost, left) => {
    const post = await start()
    const { status, reservation, left: reserved } = await post({ ...about, reserve: 30 })
    expect([status, reserved]).toEqual([200, '70'])
    expect(await post({ settle: reservation, cost })).toMatchObject({ status: 200, settled: true })
    expect(await post({ ...about, cost: 0 })).toMatchObject({ left })
  })

  it('settles once', async () => {
    const post = await start()
    const { reservation } = await post({ ...about, reserve: 30 })
    const all = await Promise.all(Array.from({ length: 4 }, () => post({ settle: reservation, cost: 0 })))
    expect(all.filter(({ settled }) => settled)).toHaveLength(1)
    expect(await post({ ...about, cost: 0 })).toMatchObject({ left: '100' })
  })

  it('carries a debt over, of at most one budget', async () => {
    const post = await start()
    const { reservation } = await post({ ...about, reserve: 1 })
    await post({ settle: reservation, cost: 100_000 })
    expect(await post({ ...about })).toMatchObject({ status: 429, left: '0' })
  })

  it('has nothing to settle where it is refused', async () => {
    const post = await start()
    const refused = await post({ ...about, reserve: 101 })
    expect([refused.status, refused.reservation]).toEqual([429, undefined])
  })

  it.each<[object, string]>([
    [{ settle: 'made-up', cost: 1 }, 'RESERVATION_INVALID'],
    [{ settle: 'a'.repeat(10_000), cost: 1 }, 'RESERVATION_INVALID'],
    [{ settle: 'a' }, 'REQUEST_INVALID'],
    [{ settle: 'a', cost: -1 }, 'REQUEST_INVALID'],
    [{ settle: 'a', cost: 1, domain: 'api' }, 'REQUEST_INVALID'],
    [{ ...about, reserve: -1 }, 'REQUEST_INVALID'],
    [{ ...about, reserve: 1, cost: 1 }, 'REQUEST_INVALID'],
    [{ domain: 'api', descriptors: [{ ...about.descriptors[0], cost: 1 }], reserve: 1 }, 'REQUEST_INVALID'],
  ])('refuses %j', async (body, code) => {
    expect(await (await start())(body)).toMatchObject({ status: 400, code })
  })

  it('takes no reservation that is older than an hour', async () => {
    let nowMs = 0
    const post = await start(() => nowMs)
    const { reservation } = await post({ ...about, reserve: 1 })
    nowMs = 3_600_001
    expect(await post({ settle: reservation, cost: 1 })).toMatchObject({ status: 400, code: 'RESERVATION_INVALID' })
  })
})
