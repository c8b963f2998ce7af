import { loadRules } from 'sluice/internal/core/rules/load'
import type { LayerMode, ShedLayer } from 'sluice/internal/engine/load-shedder'
import type { Quotas } from 'sluice/internal/engine/quotas'
import { afterEach, describe, expect, it } from 'vitest'
import { grpcClient, limiterCheck, rlsRequest, shouldRateLimit } from '../../../../tests/process/grpc-load.suite.ts'
import { until } from '../../../../tests/servers/until.mjs'
import { logTo } from '../log/log.ts'
import { readConfig } from '../settings/config.ts'
import { type Doors, openDoors } from './doors.ts'

const HERE = { host: '127.0.0.1', port: 0 }
const RULES = 'domain: api\ndescriptors: [{key: user, rate_limit: {unit: day, requests_per_unit: 1000000}}]'
const rules = loadRules([{ file: 'r.yaml', text: RULES }])

let doors: Doors | undefined
afterEach(async () => {
  await doors?.close()
})

async function open(args: string[], layers?: (layer: ShedLayer) => LayerMode | undefined) {
  const none = { accounts: undefined, tiers: undefined, blocks: undefined, grants: undefined, switches: undefined }
  const quotas = (): Quotas => ({ ...none, layers })
  doors = openDoors(
    readConfig(args, {}),
    () => rules,
    logTo(() => {}),
    layers && { quotas },
  )
  const url = `http://${await doors.all.http.listen(HERE)}`
  const post = (path: string, more: object = {}): Promise<Response> =>
    fetch(`${url}${path}`, {
      method: 'POST',
      body: JSON.stringify({ domain: 'api', descriptors: [{ entries: [{ key: 'user', value: 'u' }] }], ...more }),
      headers: { connection: 'close', 'content-type': 'application/json' },
    })
  return { doors, post }
}

/** A fleet that can serve one request a second. */
const FULL = ['--shed-capacity', '1', '--shed-reserved', '0']

/** Asks until a request is shed: the capacity is there again a second later. */
async function shedOf(ask: () => Promise<Response>): Promise<Response> {
  return until('a request is shed', async () => {
    await ask()
    const response = await ask()
    return response.status === 503 && response
  })
}

describe('the doors of a service that sheds', () => {
  it('answer 503 over HTTP, with Retry-After and the code LOAD_SHED, and reveal nothing of a budget', async () => {
    const { post } = await open(FULL)
    const response = await shedOf(() => post('/v1/check'))
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect([response.headers.get('sluice-shed'), response.headers.get('ratelimit')]).toEqual(['fleet', null])
    expect(await response.json()).toMatchObject({
      allowed: false,
      code: 'LOAD_SHED',
      reason: 'the fleet has no capacity left but what is kept for critical requests',
      response: { status: 503 },
    })
    expect((await shedOf(() => post('/v1/acquire'))).status).toBe(503)
    expect((await shedOf(() => post('/json'))).status).toBe(503)
  })

  it('answer OVER_LIMIT to Envoy, with a header that distinguishes it from a limit', async () => {
    const { doors } = await open(FULL)
    const client = grpcClient(await doors.all.grpc.listen(HERE))
    const shed = await until('a call is shed', async () => {
      await shouldRateLimit(client, rlsRequest('api', 'u'))
      const answer = await shouldRateLimit(client, rlsRequest('api', 'u'))
      return answer[1] === 2 && answer
    })
    expect(shed.toString('latin1')).toContain('Sluice-Shed')
    await until('a check is shed', async () => (await limiterCheck(client, 'api', 'u')).includes('fleet_shed'))
    client.close()
  })

  it('never shed what a trusted caller says is critical, and refuse to believe anybody else', async () => {
    const { post } = await open([...FULL, '--trust-callers'])
    await shedOf(() => post('/v1/check'))
    for (let i = 0; i < 5; i++) expect((await post('/v1/check', { priority: 'critical' })).status).toBe(200)
    await doors?.close()
    const stranger = await open(FULL)
    const refused = await stranger.post('/v1/check', { priority: 'critical' })
    expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([403, 'CALLER_NOT_TRUSTED'])
    expect((await stranger.post('/v1/check', { priority: 'test' })).status).toBe(200)
    expect((await stranger.post('/v1/check', { priority: 'urgent' })).status).toBe(400)
  })

  it('believe over gRPC what they believe over HTTP', async () => {
    const [CRITICAL, TEST] = [0x01, 0x04]
    const ask = (client: ReturnType<typeof grpcClient>, priority: number): Promise<Buffer> => {
      const request = Buffer.concat([rlsRequest('api', 'u'), Buffer.from([0x20, priority])])
      const message = Buffer.concat([Buffer.from([0x0a, request.length]), request])
      return shouldRateLimit(client, message, '/sluice.v1.Limiter/Check')
    }
    const { doors: trusting } = await open([...FULL, '--trust-callers'])
    const trusted = grpcClient(await trusting.all.grpc.listen(HERE))
    await until('a test is shed', async () => {
      await ask(trusted, TEST)
      return (await ask(trusted, TEST)).includes('fleet_shed')
    })
    for (let i = 0; i < 5; i++) expect(await ask(trusted, CRITICAL)).not.toContain('fleet_shed')
    trusted.close()
    await trusting.close()
    const { doors: strict } = await open(FULL)
    const stranger = grpcClient(await strict.all.grpc.listen(HERE))
    expect((await ask(stranger, CRITICAL)).toString('latin1')).toContain('CALLER_NOT_TRUSTED')
    expect((await ask(stranger, 9)).toString('latin1')).toContain('REQUEST_INVALID')
    stranger.close()
  })

  it('shed nothing in shadow mode, and count what they would', async () => {
    const { post, doors } = await open([...FULL, '--shed-fleet', 'shadow'])
    const shadowed = (): number => {
      const { labels = [], values = [] } = doors.reports.metrics()?.families.ratelimit_shed_total ?? {}
      return values[labels.findIndex((each) => /fleet.*shadow.*write|fleet.*write.*shadow/.test(each))]
    }
    await until('one would have been shed', async () => {
      expect((await post('/v1/check')).status).toBe(200)
      return shadowed() > 0
    })
  })

  it('obey a switch of the layer immediately', async () => {
    let mode: LayerMode | undefined = 'off'
    const { post } = await open(FULL, (layer) => (layer === 'fleet' ? mode : undefined))
    const statuses = async () =>
      (await Promise.all(Array.from({ length: 20 }, () => post('/v1/check')))).map((r) => r.status)
    expect(await statuses()).toEqual(Array(20).fill(200))
    mode = 'on'
    await shedOf(() => post('/v1/check'))
    mode = undefined
    await shedOf(() => post('/v1/check'))
  })

  it('have no sampler and no shedder where nothing can be shed', async () => {
    const { doors } = await open([])
    expect(doors.reports.metrics()?.families.ratelimit_shed_total).toBeUndefined()
  })
})
