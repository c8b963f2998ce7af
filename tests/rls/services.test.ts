import { once } from 'node:events'
import { Client, compressionAlgorithms, credentials, Metadata } from '@grpc/grpc-js'
import { afterEach, describe, expect, it } from 'vitest'
import type { LimiterPort } from '../../server/src/edge/limiter-port.ts'
import type { RlsOptions } from '../../server/src/edge/rls/rls-options.ts'
import { observerOf } from '../../server/src/observe/door-observer.ts'
import { RuleStats } from '../../server/src/observe/rule-stats.ts'
import { codecOf, RLS_REQUEST, RLS_RESPONSE } from '../../server/src/protobuf/protos.suite.ts'
import { bytesField } from '../../server/src/protobuf/writer.ts'
import { type Decision, UNLIMITED } from '../../src/core/combine.ts'
import { loadRules } from '../../src/core/rules/load.ts'
import { Limiter } from '../../src/engine/limiter.ts'
import { StoreFault } from '../../src/engine/store-fault.ts'
import { MemoryStore } from '../../src/stores/memory/memory-store.ts'
import { sceneOf } from '../rules/examples.suite.ts'
import { codecs, SHOULD_RATE_LIMIT, startService, type TestService } from './rls-service.suite.ts'

const rules = loadRules([
  {
    file: 'd.yaml',
    text: `
domain: d
descriptors:
  - key: user
    rate_limit: {unit: minute, requests_per_unit: 2}
  - key: jobs
    rate_limit: {requests_per_unit: 1, algorithm: concurrency}
`,
  },
])
const entries = [{ key: 'user', value: 'alice' }]
const ASK = { domain: 'd', descriptors: [{ entries }] }
const JOB = { domain: 'd', descriptors: [{ entries: [{ key: 'jobs', value: 'a' }] }] }

const services: TestService[] = []
afterEach(() => Promise.all(services.splice(0).map((service) => service.close())))

async function start(
  limiter: LimiterPort = sceneOf(rules, 'd').limiter,
  options: RlsOptions = {},
): Promise<TestService> {
  const service = await startService(limiter, options)
  services.push(service)
  return service
}

/** A limiter on the rules, and what it counts. */
function observed(): { limiter: LimiterPort; stats: RuleStats } {
  const stats = new RuleStats()
  return { limiter: new Limiter(() => rules, new MemoryStore(), { observer: observerOf('rls', [stats]) }), stats }
}

/** A limiter that checks in some way, and knows no places. */
const limiterOf = (check: LimiterPort['check']): LimiterPort => ({
  check,
  acquire: async (request) => ({ decision: await check(request), permits: undefined }),
  renew: () => [],
  release: () => {},
})

describe('ShouldRateLimit', () => {
  it('waits for a limiter that promises an answer', async () => {
    const service = await start(limiterOf(async () => UNLIMITED))
    expect(await service.ask(ASK)).toEqual({ overallCode: 'OK', statuses: [{ code: 'OK' }] })
  })

  it.each<[string, LimiterPort['check']]>([
    ['throws', () => raise(new Error('secret'))],
    ['rejects', () => Promise.reject(new Error('secret'))],
    ['has no store', () => Promise.reject(new StoreFault('broken', 'redis', 'secret'))],
    ['answers nonsense', () => ({ ...UNLIMITED, verdicts: undefined }) as unknown as Decision],
    ['promises nonsense', async () => undefined as unknown as Decision],
  ])('never answers OK when the limiter %s, and reveals nothing of it', async (_, check) => {
    const failures: unknown[] = []
    const service = await start(limiterOf(check), { failed: (error: unknown) => failures.push(error) } as RlsOptions)
    expect(await service.ask(ASK)).toBe('13: the decision failed')
    expect(failures).toHaveLength(1)
    expect([...service.rls.calls.list()]).toContainEqual(['ratelimit.service.call.should_rate_limit.internal_error', 1])
  })

  it.each<[string, Buffer, string]>([
    ['bytes that are no message', Buffer.from([0xff]), '3: the message ends in the middle of a field'],
    [
      'an override without a window',
      bytesOf({ unitMultiplier: { value: 0 } }),
      '3: WINDOW_INVALID: limit.window: got 0',
    ],
    ['an override of 100 years', bytesOf({ unitMultiplier: { value: 100 } }), '3: WINDOW_INVALID: limit.window: got'],
  ])('refuses %s', async (_, bytes, reason) => {
    const service = await start()
    const raw = { encode: () => bytes, decode: (answer: Uint8Array) => answer }
    expect(await service.call(SHOULD_RATE_LIMIT, raw, raw, {})).toMatch(new RegExp(`^${reason.replaceAll('.', '\\.')}`))
    expect([...service.rls.calls.list()]).toContainEqual(['ratelimit.service.call.should_rate_limit.service_error', 1])
  })

  it('counts what it answers, under the names of envoyproxy/ratelimit', async () => {
    const { limiter, stats } = observed()
    const service = await start(limiter)
    for (const hitsAddend of [1, 1, 5]) await service.ask({ ...ASK, hitsAddend })
    await service.ask({ ...ASK, descriptors: [{ entries, hitsAddend: { value: 1 }, isNegativeHits: true }] })
    expect(Object.fromEntries(service.rls.calls.list())).toEqual({
      'ratelimit.service.call.should_rate_limit.service_error': 0,
      'ratelimit.service.call.should_rate_limit.internal_error': 0,
      'ratelimit.service.global_shadow_mode': 0,
      'ratelimit_server.ShouldRateLimit.total_requests': 4,
      'ratelimit_server.ShouldRateLimit.over_limit': 1,
    })
    expect(Object.fromEntries(stats.list())).toEqual({
      'ratelimit.service.rate_limit.d.user.total_hits': 7,
      'ratelimit.service.rate_limit.d.user.total_negative_hits': 1,
      'ratelimit.service.rate_limit.d.user.within_limit': 2,
      'ratelimit.service.rate_limit.d.user.near_limit': 1,
      'ratelimit.service.rate_limit.d.user.over_limit': 5,
      'ratelimit.service.rate_limit.d.user.shadow_mode': 0,
    })
  })

  it('is counted by rule as every other door is', async () => {
    const { limiter, stats } = observed()
    const service = await start(limiter)
    const hits = (): number | undefined =>
      Object.fromEntries(stats.list())['ratelimit.service.rate_limit.d.user.total_hits']
    const doors: (() => Promise<unknown>)[] = [
      () => service.ask(ASK),
      () => service.post('/json', ASK),
      () => service.post('/v1/check', ASK),
      () => service.post('/v1/acquire', ASK),
      () =>
        service.call(
          '/sluice.v1.Limiter/Check',
          codecOf('sluice.v1.CheckRequest'),
          codecOf('sluice.v1.CheckResponse'),
          { requests: [ASK] },
        ),
    ]
    for (const [i, ask] of doors.entries()) {
      await ask()
      expect(hits()).toBe(i + 1)
    }
  })

  it('limits a caller whose headers are as long as Envoy takes them, in several descriptors', async () => {
    const service = await start()
    const long = { key: 'user', value: 'x'.repeat(60_000) }
    const ask = {
      domain: 'd',
      descriptors: [1, 2, 3, 4, 5].map((n) => ({ entries: [long, { key: `k${n}`, value: '' }] })),
    }
    const last = { entries: [long] }
    const codes = []
    for (let i = 0; i < 3; i++) codes.push(await service.ask({ ...ask, descriptors: [...ask.descriptors, last] }))
    expect(codes).toMatchObject([{ overallCode: 'OK' }, { overallCode: 'OK' }, { overallCode: 'OVER_LIMIT' }])
  })

  it('takes what envoyproxy/ratelimit takes: messages compressed by gzip, of 600 kB, and 20 KiB of metadata', async () => {
    const service = await start()
    const zipping = new Client(`127.0.0.1:${service.grpcPort}`, credentials.createInsecure(), {
      'grpc.default_compression_algorithm': compressionAlgorithms.gzip,
    })
    const metadata = new Metadata()
    metadata.set('x-baggage', 'b'.repeat(20_480))
    const ask = (client: Client, value: string): Promise<unknown> =>
      new Promise((resolve, reject) => {
        const message = RLS_REQUEST.encode({ domain: 'd', descriptors: [{ entries: [{ key: 'user', value }] }] })
        client.makeUnaryRequest(SHOULD_RATE_LIMIT, asIs, RLS_RESPONSE.decode, message, metadata, (error, answer) =>
          error === null ? resolve(answer) : reject(error),
        )
      })
    const [small, large] = ['bob', 'x'.repeat(600_000)]
    for (const value of [small, large]) {
      expect(await ask(service.client, value)).toMatchObject({ overallCode: 'OK', statuses: [{ limitRemaining: 1 }] })
      expect(await ask(zipping, value)).toMatchObject({ overallCode: 'OK' })
      expect(await ask(service.client, value)).toMatchObject({ overallCode: 'OVER_LIMIT' })
    }
    expect(await ask(service.client, 'y'.repeat(4_000_000))).toMatchObject({ overallCode: 'OK' })
    zipping.close()
  })

  it('keeps callers apart whose names are not UTF-8', async () => {
    const service = await start()
    const ask = (value: Buffer) => service.call(SHOULD_RATE_LIMIT, RAW, RLS_RESPONSE, namedBy({ value }))
    await ask(Buffer.of(0xfe))
    await ask(Buffer.of(0xfe))
    expect(await ask(Buffer.of(0xfe))).toMatchObject({ overallCode: 'OVER_LIMIT' })
    // The replacement character, which all such bytes are to readers that do not care.
    for (const other of [Buffer.of(0xff), Buffer.of(0xfe, 0xfe), Buffer.from('\ufffd')]) {
      expect(await ask(other)).toMatchObject({ overallCode: 'OK', statuses: [{ limitRemaining: 1 }] })
    }
  })

  it('has no rule for a key or a domain that is not UTF-8, and repeats neither as bytes that Envoy could not read', async () => {
    const service = await start(undefined, { dynamicMetadata: true })
    const ask = (parts: Parameters<typeof namedBy>[0]) =>
      service.call(SHOULD_RATE_LIMIT, RAW, RLS_RESPONSE, namedBy(parts))
    expect(await ask({ key: Buffer.from('user\xff', 'latin1') })).toMatchObject({
      statuses: [{ code: 'OK' }],
      dynamicMetadata: { fields: { descriptors: { listValue: { values: [{}] } } } },
    })
    expect(await ask({ domain: Buffer.of(0x64, 0xff) })).toMatchObject({
      statuses: [{ code: 'OK' }],
      dynamicMetadata: { fields: { domain: { stringValue: 'd\ufffd' } } },
    })
  })
})

const asIs = (bytes: Buffer): Buffer => bytes
/** A message that is bytes already: what no library would send. */
const RAW = { encode: (bytes: object) => bytes as Buffer, decode: RLS_REQUEST.decode }

function raise(error: Error): never {
  throw error
}

/** A request with an override of a year. */
function bytesOf(override: object): Buffer {
  const limit = { requestsPerUnit: 1, unit: 'YEAR', ...override }
  return codecOf('envoy.service.ratelimit.v3.RateLimitRequest').encode({ ...ASK, descriptors: [{ entries, limit }] })
}

/** A request whose texts are any bytes. */
function namedBy({ domain, key, value }: { readonly [part in 'domain' | 'key' | 'value']?: Uint8Array }): Buffer {
  const entry = [bytesField(1, key ?? Buffer.from('user')), bytesField(2, value ?? Buffer.from('a'))]
  return Buffer.concat([bytesField(1, domain ?? Buffer.from('d')), bytesField(2, bytesField(1, Buffer.concat(entry)))])
}

describe('sluice.v1.Limiter', () => {
  const request = {
    check: 'CheckRequest',
    acquire: 'AcquireRequest',
    renew: 'RenewRequest',
    release: 'ReleaseRequest',
  } as const
  const call = (service: TestService, method: keyof typeof request, message: object): Promise<unknown> => {
    const name = method[0].toUpperCase() + method.slice(1)
    const types = [codecOf(`sluice.v1.${request[method]}`), codecOf(`sluice.v1.${name}Response`)] as const
    return service.call(`/sluice.v1.Limiter/${name}`, ...types, message)
  }

  it('decides a batch, each request separately and in order', async () => {
    const service = await start()
    const wrong = { domain: '', descriptors: [{ entries }] }
    const requests = [ASK, { ...ASK, cost: 0 }, wrong, { ...ASK, cost: 2 ** 40 }, ASK, ASK]
    expect(await call(service, 'check', { requests })).toMatchObject({
      answers: [
        { decision: { allowed: true, rule: 'user', verdicts: [{ kind: 'KIND_ALLOWED', limit: 2, remaining: 1 }] } },
        { decision: { allowed: true, verdicts: [{ remaining: 1 }] } },
        { error: { code: 'REQUEST_INVALID' } },
        { error: { code: 'COST_INVALID' } },
        { decision: { allowed: true } },
        { decision: { retryAfterMs: 60_000, reason: 'rule "user" has 0 of 2 left; admitted again in 60000 ms' } },
      ],
    })
  })

  it('decides a batch on a limiter that promises answers', async () => {
    const checks: LimiterPort['check'][] = [
      async () => UNLIMITED,
      () => Promise.reject(new Error('secret')),
      () => UNLIMITED,
    ]
    const service = await start(limiterOf((request) => (checks.shift() as LimiterPort['check'])(request)))
    expect(await call(service, 'check', { requests: [ASK, ASK, ASK] })).toEqual({
      answers: [
        { decision: { allowed: true } },
        { error: { code: 'INTERNAL', message: 'the decision failed' } },
        { decision: { allowed: true } },
      ],
    })
  })

  it('answers an empty batch with none', async () => {
    expect(await call(await start(), 'check', {})).toEqual({})
  })

  it('takes a place and gives it back', async () => {
    const service = await start()
    const { decision, lease } = (await call(service, 'acquire', { request: JOB })) as {
      decision: object
      lease: string
    }
    expect(decision).toMatchObject({ allowed: true })
    expect(await call(service, 'acquire', { request: JOB })).toMatchObject({ decision: { rule: 'jobs' } })
    expect(await call(service, 'release', { lease })).toEqual({})
    expect(await call(service, 'release', { lease })).toEqual({})
    expect(await call(service, 'acquire', { request: JOB })).toMatchObject({ decision: { allowed: true } })
  })

  it('renews leases, and says of each what became of it', async () => {
    const { limiter, advance } = sceneOf(rules, 'd')
    const service = await start(limiter)
    const { lease, leaseTtlMs } = (await call(service, 'acquire', { request: JOB })) as {
      lease: string
      leaseTtlMs: number
    }
    expect(leaseTtlMs).toBe(60_000)
    for (let i = 0; i < 4; i++) {
      advance(40_000)
      expect(await call(service, 'renew', { leases: [lease] })).toEqual({ renewals: [{ leaseTtlMs: 60_000 }] })
    }
    expect(await call(service, 'acquire', { request: JOB })).toMatchObject({ decision: { rule: 'jobs' } })
    advance(60_000)
    expect(await call(service, 'renew', { leases: [lease, 'x'] })).toMatchObject({
      renewals: [
        { error: { code: 'LEASE_EXPIRED', message: expect.stringContaining('the lease has expired or was released') } },
        { error: { code: 'LEASE_INVALID', message: expect.stringContaining('too short') } },
      ],
    })
    expect(await call(service, 'acquire', { request: JOB })).toMatchObject({ decision: { allowed: true } })
    expect(await call(service, 'renew', {})).toEqual({})
  })

  it('hands out no lease where there is nothing to give back', async () => {
    expect(await call(await start(), 'acquire', { request: ASK })).not.toHaveProperty('lease')
  })

  it('refuses a lease that is none, and an empty request', async () => {
    const service = await start()
    expect(await call(service, 'release', { lease: 'x' })).toMatch(/^3: LEASE_INVALID: lease: too short/)
    expect(await call(service, 'acquire', {})).toMatch(
      /^3: REQUEST_INVALID: domain: rate limit domain must not be empty/,
    )
  })

  it('lets everything pass in shadow mode, and reports the verdicts', async () => {
    const service = await start(undefined, { shadowMode: true })
    expect(await call(service, 'check', { requests: [{ ...ASK, cost: 3 }] })).toMatchObject({
      answers: [{ decision: { allowed: true, verdicts: [{ kind: 'KIND_IMPOSSIBLE' }] } }],
    })
    await call(service, 'acquire', { request: JOB })
    const second = await call(service, 'acquire', { request: JOB })
    expect(second).toMatchObject({ decision: { allowed: true, verdicts: [{ kind: 'KIND_REFUSED' }] } })
    expect(second).not.toHaveProperty('decision.retryAfterMs')
  })
})

describe('grpc.health.v1.Health', () => {
  const check = (service: TestService, name: string): Promise<unknown> =>
    service.call('/grpc.health.v1.Health/Check', codecs.healthRequest, codecs.healthResponse, { service: name })

  it('says that the server and its services serve, and then that they do not', async () => {
    const service = await start()
    const names = ['', 'ratelimit', 'envoy.service.ratelimit.v3.RateLimitService', 'sluice.v1.Limiter']
    for (const name of names) expect(await check(service, name)).toEqual({ status: 'SERVING' })
    service.health.set(false)
    for (const name of names) expect(await check(service, name)).toEqual({ status: 'NOT_SERVING' })
  })

  it('lists the server and its services, with their states', async () => {
    const service = await start()
    const list = () =>
      service.call('/grpc.health.v1.Health/List', codecs.healthListRequest, codecs.healthListResponse, {})
    const all = (status: string) => ({
      statuses: Object.fromEntries(
        ['', 'ratelimit', 'envoy.service.ratelimit.v3.RateLimitService', 'sluice.v1.Limiter'].map((name) => [
          name,
          { status },
        ]),
      ),
    })
    expect(await list()).toEqual(all('SERVING'))
    service.health.set(false)
    expect(await list()).toEqual(all('NOT_SERVING'))
  })

  it('does not know another service', async () => {
    expect(await check(await start(), 'other')).toBe('5: unknown service')
  })

  const watch = (service: TestService, name: string) =>
    service.client.makeServerStreamRequest(
      '/grpc.health.v1.Health/Watch',
      (object: object) => codecs.healthRequest.encode(object),
      (bytes: Buffer) => codecs.healthResponse.decode(bytes),
      { service: name },
    )

  it('notifies watchers of every change, until they leave', async () => {
    const service = await start()
    const stream = watch(service, '')
    expect(await once(stream, 'data')).toEqual([{ status: 'SERVING' }])
    for (const isServing of [false, true]) {
      service.health.set(isServing)
      expect(await once(stream, 'data')).toEqual([{ status: isServing ? 'SERVING' : 'NOT_SERVING' }])
    }
    const last = once(stream, 'data')
    const ended = new Promise((resolve) => stream.on('error', resolve))
    service.health.leave()
    expect(await last).toEqual([{ status: 'NOT_SERVING' }])
    expect(await ended).toMatchObject({ code: 14 })
  })

  it('reports that a service is unknown, and continues', async () => {
    const service = await start()
    const stream = watch(service, 'other')
    expect(await once(stream, 'data')).toEqual([{ status: 'SERVICE_UNKNOWN' }])
    const ended = new Promise((resolve) => stream.on('error', resolve))
    service.health.leave()
    expect(await ended).toMatchObject({ code: 14 })
  })

  it('forgets watchers that leave', async () => {
    const service = await start()
    const stream = watch(service, '')
    await once(stream, 'data')
    const left = new Promise((resolve) => stream.on('error', resolve))
    stream.cancel()
    await left
    service.health.set(false)
    expect(await check(service, '')).toEqual({ status: 'NOT_SERVING' })
  })

  it('answers GET /healthcheck 200 and OK, or 500', async () => {
    const service = await start()
    const up = await fetch(`${service.url}/healthcheck`)
    expect([up.status, await up.text()]).toEqual([200, 'OK'])
    service.health.leave()
    const down = await fetch(`${service.url}/healthcheck`)
    expect([down.status, await down.text()]).toEqual([500, ''])
  })
})

describe('places over HTTP', () => {
  it('are taken and given back, by their lease', async () => {
    const service = await start()
    const first = await service.post('/v1/acquire', JOB)
    expect(first.status).toBe(200)
    const { lease, allowed } = (await first.json()) as { lease: string; allowed: boolean }
    expect(allowed).toBe(true)
    const second = await service.post('/v1/acquire', JOB)
    expect([second.status, await second.json()]).toMatchObject([429, { allowed: false, rule: 'jobs' }])
    const released = await service.post('/v1/release', { lease })
    expect([released.status, await released.text()]).toEqual([204, ''])
    expect((await service.post('/v1/acquire', JOB)).status).toBe(200)
  })

  it('are renewed, by their leases', async () => {
    const { limiter, advance } = sceneOf(rules, 'd')
    const service = await start(limiter)
    const { lease, leaseTtlMs } = (await (await service.post('/v1/acquire', JOB)).json()) as Record<string, string>
    expect(leaseTtlMs).toBe(60_000)
    advance(59_999)
    const renewed = await service.post('/v1/renew', { leases: [lease, 'x'] })
    expect([renewed.status, renewed.headers.get('cache-control'), await renewed.json()]).toMatchObject([
      200,
      'no-store',
      {
        leases: [
          { renewed: true, leaseTtlMs: 60_000 },
          { renewed: false, error: { code: 'LEASE_INVALID' } },
        ],
      },
    ])
    advance(59_999)
    expect((await service.post('/v1/acquire', JOB)).status).toBe(429)
    expect((await service.post('/v1/release', { lease })).status).toBe(204)
    expect(await (await service.post('/v1/renew', { leases: [lease] })).json()).toMatchObject({
      leases: [{ renewed: false, error: { code: 'LEASE_EXPIRED' } }],
    })
    expect((await service.post('/v1/acquire', JOB)).status).toBe(200)
  })

  it('are asked to retry while the store does not answer', async () => {
    const { limiter } = sceneOf(rules, 'd')
    const renew: LimiterPort['renew'] = async (leases) => leases.map(() => 'missed')
    const service = await start({
      check: (request) => limiter.check(request),
      acquire: (request) => limiter.acquire(request),
      release: (lease) => limiter.release(lease),
      renew,
    })
    const { lease } = (await (await service.post('/v1/acquire', JOB)).json()) as Record<string, string>
    expect(await (await service.post('/v1/renew', { leases: [lease] })).json()).toMatchObject({
      leases: [{ renewed: false, error: { code: 'LEASE_NOT_RENEWED' } }],
    })
  })

  it.each<[string, object]>([
    ['no list', {}],
    ['an empty list', { leases: [] }],
    ['something else', { leases: [1] }],
    ['another field', { leases: ['a'], id: 1 }],
  ])('are not renewed for %s', async (_, body) => {
    const response = await (await start()).post('/v1/renew', body)
    expect([response.status, await response.json()]).toMatchObject([400, { code: 'RENEW_INVALID' }])
  })

  it.each<[string, object, string]>([
    ['no lease', {}, 'RELEASE_INVALID: body.lease: Invalid input: expected string, received undefined'],
    ['another field', { lease: 'a', id: 1 }, 'RELEASE_INVALID: body: Unrecognized key: "id"'],
    ['what is no lease', { lease: 'a'.repeat(100) }, 'LEASE_INVALID: lease: unknown lease'],
  ])('are not given back for %s', async (_, body, reason) => {
    const response = await (await start()).post('/v1/release', body)
    expect(response.status).toBe(400)
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    expect(((await response.json()) as { detail: string }).detail.startsWith(`${reason}.`)).toBe(true)
  })

  it('are part of a check with costs and limits of its descriptors', async () => {
    const service = await start()
    const descriptors = [
      { entries, cost: 2 },
      { entries: [{ key: 'x', value: 'y' }], limit: { requestsPerUnit: 9, unit: 'second', unitMultiplier: 90 } },
    ]
    const response = await service.post('/v1/check', { domain: 'd', descriptors })
    expect(await response.json()).toMatchObject({
      allowed: true,
      verdicts: [
        { rule: 'user', remaining: 0 },
        { rule: 'override', limit: 9, remaining: 8 },
      ],
    })
  })
})

describe('SHADOW_MODE over HTTP', () => {
  it('answers 200, and reports what the rules say', async () => {
    const service = await start(undefined, { shadowMode: true })
    for (const path of ['/v1/check', '/v1/acquire']) {
      const response = await service.post(path, { ...ASK, cost: 3 })
      expect([response.status, await response.json()]).toMatchObject([
        200,
        { allowed: true, verdicts: [{ kind: 'impossible' }] },
      ])
    }
  })
})

describe('POST /json', () => {
  it('answers 500 to what it could not decide', async () => {
    const service = await start(limiterOf(() => Promise.reject(new Error('secret'))))
    const response = await service.post('/json', ASK)
    expect([response.status, await response.json()]).toMatchObject([500, { detail: 'the decision failed' }])
  })

  it.each<[string, string, string]>([
    ['is not JSON', '{', 'RLS_REQUEST_INVALID: body: not JSON'],
    [
      'has an override of 100 years',
      JSON.stringify({ ...ASK, descriptors: [{ entries, limit: { unit: 'YEAR', unitMultiplier: 100 } }] }),
      'WINDOW_INVALID',
    ],
  ])('answers 400 to what %s', async (_, body, reason) => {
    const response = await (await start()).post('/json', body)
    expect([response.status, response.headers.get('content-type')]).toEqual([400, 'application/problem+json'])
    expect(((await response.json()) as { detail: string }).detail.startsWith(reason)).toBe(true)
  })

  it('is counted together with calls over gRPC', async () => {
    const service = await start()
    await service.ask(ASK)
    await service.post('/json', ASK)
    expect(service.rls.calls.requests).toBe(2)
  })
})
