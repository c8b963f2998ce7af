import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { run, type Started, startWith } from '../cli/sluice-process.suite.ts'
import { freePort } from '../servers/ports.mjs'
import { sharedRedis } from '../servers/shared.ts'
import { until } from '../servers/until.mjs'
import { type ReceivedSpan, startReceiver } from './otlp-receiver.suite.ts'
import { callsTo } from './service-calls.suite.ts'

const RULES = `
domain: d
descriptors:
  - key: user
    rate_limit: { unit: day, requests_per_unit: 2, algorithm: fixed_window, anchor: first_hit }
`
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
const SAMPLED = { traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: 'vendor=1' }
const UNSAMPLED = { traceparent: `00-${TRACE}-${SPAN}-00` }

const askOf = (user: string) => ({ domain: 'd', descriptors: [{ entries: [{ key: 'user', value: user }] }] })
const posted = (user: string): string => JSON.stringify(askOf(user))

/** Writes the rules to a file of this test. */
function rulesFile(): string {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-traces-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  writeFileSync(join(dir, 'd.yaml'), RULES)
  return join(dir, 'd.yaml')
}

/** A service that sends spans to a receiver, at once. */
async function traced(env: Record<string, string> = {}, ...args: string[]) {
  const receiver = await startReceiver()
  const service = await startWith(
    { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_BSP_SCHEDULE_DELAY: '20', ...env },
    '--rules',
    rulesFile(),
    ...args,
  )
  return { ...receiver, service, ...callsTo(service) }
}

/** Ends a service as an operator does: what is left is sent. */
async function stopped({ child, output }: Started): Promise<string> {
  child.kill('SIGTERM')
  return output
}

/** What a service takes for the time, in whole seconds. The clock of this process may be another. */
async function timeOf({ url }: Started): Promise<number> {
  return Date.parse((await fetch(`${url}/healthcheck`)).headers.get('date') ?? '')
}

const spansOf = (spans: readonly ReceivedSpan[], count: number): Promise<readonly ReceivedSpan[]> =>
  until(`${count} spans arrive`, () => spans.length >= count && spans)

describe('traces of the service', () => {
  it.each(['http/protobuf', 'http/json'])('have a span for each decision, of every door, over %s', async (protocol) => {
    const { spans, call, post, service } = await traced({ OTEL_EXPORTER_OTLP_PROTOCOL: protocol })
    const before = await timeOf(service)
    await call('envoy', askOf('a'), SAMPLED)
    await call('check', { requests: [askOf('a')] }, SAMPLED)
    await post('/v1/check', posted('a'), SAMPLED)
    await post('/json', posted('b'), SAMPLED)
    await call('acquire', { request: askOf('b') }, SAMPLED)
    const after = await timeOf(service)
    await stopped(service)
    const about = { 'ratelimit.domain': 'd', 'ratelimit.rule': 'user', 'ratelimit.cost': 1 }
    expect(spans.map(({ attributes }) => attributes)).toEqual([
      { ...about, 'ratelimit.door': 'rls', 'ratelimit.outcome': 'allowed', 'ratelimit.remaining': 1 },
      { ...about, 'ratelimit.door': 'grpc', 'ratelimit.outcome': 'allowed', 'ratelimit.remaining': 0 },
      { ...about, 'ratelimit.door': 'http', 'ratelimit.outcome': 'refused', 'ratelimit.remaining': 0 },
      { ...about, 'ratelimit.door': 'rls', 'ratelimit.outcome': 'allowed', 'ratelimit.remaining': 1 },
      { ...about, 'ratelimit.door': 'grpc', 'ratelimit.outcome': 'allowed', 'ratelimit.remaining': 0 },
    ])
    for (const span of spans) {
      expect(span).toMatchObject({
        name: 'ratelimit.check',
        traceId: TRACE,
        parentSpanId: SPAN,
        traceState: 'vendor=1',
      })
      expect(span.resource).toMatchObject({ 'service.name': 'sluice' })
      expect(span.path).toBe('/v1/traces')
      expect(span.headers['content-type']).toBe(
        protocol === 'http/json' ? 'application/json' : 'application/x-protobuf',
      )
      expect(span.startMs).toBeGreaterThan(before - 1_000)
      expect(span.endMs).toBeGreaterThanOrEqual(span.startMs)
      expect(span.endMs).toBeLessThan(after + 2_000)
    }
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(5)
  })

  it('have none where the parent is not sampled, and their own trace where there is no parent', async () => {
    const { spans, call, post, service } = await traced()
    await call('envoy', askOf('a'), UNSAMPLED)
    await call('check', { requests: [askOf('a')] }, UNSAMPLED)
    await post('/v1/check', posted('a'), UNSAMPLED)
    await post('/v1/check', posted('a'))
    await post('/v1/check', posted('a'), { traceparent: `00-${TRACE}-nonsense-01` })
    await stopped(service)
    expect(spans.map(({ parentSpanId }) => parentSpanId)).toEqual([undefined, undefined])
    expect(spans.filter(({ traceId }) => traceId === TRACE)).toEqual([])
  })

  it('are set up by the standard variables', async () => {
    const { spans, post, url } = await traced({
      OTEL_TRACES_EXPORTER: 'otlp',
      OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=one,x-other=two',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x-tenant=three',
      OTEL_SERVICE_NAME: 'limits',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=test,service.name=no',
    })
    await post('/v1/check', posted('a'))
    const [span] = await spansOf(spans, 1)
    expect(span.headers).toMatchObject({ 'x-tenant': 'three', 'x-other': 'two' })
    expect(span.resource).toMatchObject({ 'service.name': 'limits', 'deployment.environment': 'test' })
    const elsewhere = await traced({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${url}/elsewhere`,
    })
    await elsewhere.post('/v1/check', posted('a'))
    expect((await spansOf(spans, 2))[1].path).toBe('/elsewhere')
  })

  it.each([
    ['parentbased_always_off', '', 1],
    ['always_off', '', 0],
    ['always_on', '', 3],
    ['traceidratio', '0', 0],
    ['parentbased_traceidratio', '1', 2],
  ])('are sampled as OTEL_TRACES_SAMPLER=%s %s says', async (sampler, argument, count) => {
    const { spans, post, service } = await traced({ OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: argument })
    for (const headers of [SAMPLED, UNSAMPLED, {}]) await post('/v1/check', posted('a'), headers)
    await stopped(service)
    expect(spans).toHaveLength(count)
  })

  it('are none where OTEL_SDK_DISABLED says so', async () => {
    const { bodies, post, service } = await traced({ OTEL_SDK_DISABLED: 'true' })
    await post('/v1/check', posted('a'), SAMPLED)
    await stopped(service)
    expect(bodies).toEqual([])
  })

  it('are sent by each worker', async () => {
    const prefix = `traces-${process.pid}-${Date.now()}:`
    const { url } = await sharedRedis()
    const settings = ['--workers', '2', '--redis', url, '--key-prefix', prefix]
    const { spans, post } = await traced({}, ...settings)
    await until('both workers have answered', async () => {
      await post('/v1/check', posted('a'), { ...SAMPLED, connection: 'close' })
      return new Set(spans.map(({ resource }) => resource['process.pid'])).size === 2
    })
  })

  it('delay nothing while no one takes them: it is logged once, and the queue is bounded', async () => {
    const port = await freePort()
    const service = await startWith(
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
        OTEL_EXPORTER_OTLP_TIMEOUT: '200',
        OTEL_BSP_SCHEDULE_DELAY: '10',
        OTEL_BSP_MAX_QUEUE_SIZE: '4',
        OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '2',
      },
      '--rules',
      rulesFile(),
    )
    const { post } = callsTo(service)
    for (let i = 0; i < 20; i++) await post('/v1/check', posted('a'))
    await service.printed('spans cannot be sent')
    for (let i = 0; i < 20; i++) expect(await post('/v1/check', posted('b'))).toMatch(/^(200|429)/)
    const output = await stopped(service)
    expect(output.match(/spans cannot be sent/g)).toHaveLength(1)
    expect(output).toContain('stopped')
  })

  it('stop a start that cannot send them, with a code', () => {
    const rules = rulesFile()
    const { status, stderr } = run(['serve', '--rules', rules], { env: { OTEL_TRACES_EXPORTER: 'zipkin' } })
    expect(status).toBe(1)
    expect(stderr).toContain('TRACES_EXPORTER_UNKNOWN')
  })
})
