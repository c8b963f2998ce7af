import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LeaseTokens } from '../../server/src/edge/leases/lease-tokens.ts'
import { RLS_REQUEST, RLS_RESPONSE } from '../../server/src/protobuf/protos.suite.ts'
import { bytesField } from '../../server/src/protobuf/writer.ts'
import { KeyedHash } from '../../src/core/hash.ts'
import { loadRules } from '../../src/core/rules/load.ts'
import { FailurePolicy } from '../../src/engine/failure-policy.ts'
import { Limiter } from '../../src/engine/limiter.ts'
import { MemoryStore } from '../../src/stores/memory/memory-store.ts'
import { RedisStore } from '../../src/stores/redis/redis-store.ts'
import { sharedRedis } from '../servers/shared.ts'
import { SHOULD_RATE_LIMIT, startService, type TestService } from './rls-service.suite.ts'

// Two nodes of one service, which share a Redis. Rules of a domain that no other test has.
const domain = `d${randomBytes(6).toString('hex')}`
const rules = loadRules([
  {
    file: 'd.yaml',
    text: `
domain: ${domain}
descriptors:
  - key: user
    rate_limit: {unit: hour, requests_per_unit: 3, timeout_ms: 10000, on_store_failure: closed}
  - key: jobs
    rate_limit: {requests_per_unit: 1, algorithm: concurrency, timeout_ms: 10000, on_store_failure: closed}
`,
  },
])
const descriptor = (key: string) => ({ entries: [{ key, value: 'alice' }] })
const ASK = { domain, descriptors: [descriptor('user')] }
const JOB = { domain, descriptors: [descriptor('jobs')] }

const stores: RedisStore[] = []
const nodes: TestService[] = []

async function startNode(): Promise<TestService> {
  const { url } = await sharedRedis()
  const store = await new Promise<RedisStore>((resolve) => {
    const opened: RedisStore = new RedisStore({ url, timeoutMs: 60_000, events: { connected: () => resolve(opened) } })
  })
  stores.push(store)
  const parts = { hash: new KeyedHash(1, 2), partitions: 32 }
  const limiter = new Limiter(() => rules, new FailurePolicy(store, new MemoryStore()), parts)
  return startService(limiter, {}, new LeaseTokens('secret'))
}

beforeAll(async () => {
  for (let i = 0; i < 2; i++) nodes.push(await startNode())
})
afterAll(async () => {
  await Promise.all(nodes.map((node) => node.close()))
  await Promise.all(stores.map((store) => store.close()))
})

describe('two nodes that share a Redis', () => {
  it('count together, over gRPC and HTTP', async () => {
    const [one, two] = nodes
    expect(await one.ask(ASK)).toMatchObject({ overallCode: 'OK', statuses: [{ limitRemaining: 2 }] })
    expect(await two.ask(ASK)).toMatchObject({ overallCode: 'OK', statuses: [{ limitRemaining: 1 }] })
    expect((await one.post('/v1/check', ASK)).status).toBe(200)
    expect((await two.post('/json', ASK)).status).toBe(429)
    expect(await one.ask(ASK)).toMatchObject({ overallCode: 'OVER_LIMIT', statuses: [{ code: 'OVER_LIMIT' }] })
  })

  it('answer concurrent calls, each its own', async () => {
    const [one] = nodes
    const ask = (value: string) => one.ask({ domain, descriptors: [{ entries: [{ key: 'user', value }] }] })
    const answers = await Promise.all(['a', 'b', 'a', 'c', 'a'].map(ask))
    expect(
      answers.map((answer) => (answer as { statuses: { limitRemaining?: number }[] }).statuses[0].limitRemaining ?? 0),
    ).toEqual([2, 2, 1, 2, 0])
  })

  it('keep callers apart whose names are not UTF-8, and count each of them together', async () => {
    const remaining = async (node: TestService, byte: number): Promise<unknown> => {
      const entry = Buffer.concat([bytesField(1, Buffer.from('user')), bytesField(2, Buffer.of(byte))])
      const message = Buffer.concat([bytesField(1, Buffer.from(domain)), bytesField(2, bytesField(1, entry))])
      const raw = { encode: (bytes: object) => bytes as Buffer, decode: RLS_REQUEST.decode }
      const answer = await node.call(SHOULD_RATE_LIMIT, raw, RLS_RESPONSE, message)
      return (answer as { statuses: { limitRemaining: number }[] }).statuses[0].limitRemaining
    }
    const [one, two] = nodes
    expect([await remaining(one, 0xfe), await remaining(two, 0xfe), await remaining(two, 0xff)]).toEqual([2, 1, 2])
  })

  it('renew what the other has acquired', async () => {
    const [one, two] = nodes
    const { lease } = (await (await one.post('/v1/acquire', JOB)).json()) as { lease: string }
    const renew = async () => (await two.post('/v1/renew', { leases: [lease, lease] })).json()
    expect(await renew()).toEqual({ leases: Array(2).fill({ renewed: true, leaseTtlMs: 60_000 }) })
    expect((await two.post('/v1/acquire', JOB)).status).toBe(429)
    expect((await one.post('/v1/release', { lease })).status).toBe(204)
    expect(await renew()).toMatchObject({ leases: Array(2).fill({ renewed: false, error: { code: 'LEASE_EXPIRED' } }) })
  })

  it('release what the other has acquired', async () => {
    const [one, two] = nodes
    const { lease } = (await (await one.post('/v1/acquire', JOB)).json()) as { lease: string }
    expect((await two.post('/v1/acquire', JOB)).status).toBe(429)
    expect((await two.post('/v1/release', { lease })).status).toBe(204)
    expect((await two.post('/v1/acquire', JOB)).status).toBe(200)
  })
})
