import { context, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  AlwaysOffSampler,
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { RuleFile } from '../../core/rules/schema.ts'
import { rateLimit } from '../../index.ts'
import { createLimiter } from '../../library/create-limiter.ts'
import { remoteParent } from './decision-spans.ts'
import { opentelemetry } from './index.ts'
import { WallClock } from './wall-clock.ts'

const RULES: RuleFile = {
  domain: 'd',
  descriptors: [{ key: 'api_key', secret: true, rate_limit: { unit: 'hour', requests_per_unit: 2 } }],
}
const ASK = { domain: 'd', descriptors: [{ entries: [{ key: 'api_key', value: 'sk_live_planted_secret' }] }], cost: 2 }

/** A tracer whose spans are kept. */
function tracing() {
  const exporter = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  onTestFinished(() => provider.shutdown())
  return { provider, tracer: provider.getTracer('test'), spans: () => exporter.getFinishedSpans() }
}

const msOf = ([seconds, nanoseconds]: ReadableSpan['startTime']): number => seconds * 1e3 + nanoseconds / 1e6

describe('opentelemetry()', () => {
  it('makes a span of each decision, which shows rules and numbers and no value of the request', () => {
    const { tracer, spans } = tracing()
    const limiter = createLimiter({ rules: RULES, observer: opentelemetry({ tracer }) })
    limiter.check(ASK)
    limiter.check(ASK)
    limiter.check({ domain: 'e', descriptors: ASK.descriptors })
    const about = {
      'ratelimit.domain': 'd',
      'ratelimit.rule': 'api_key',
      'ratelimit.cost': 2,
      'ratelimit.remaining': 0,
    }
    expect(spans().map(({ name, attributes }) => [name, attributes])).toEqual([
      ['ratelimit.check', { ...about, 'ratelimit.outcome': 'allowed' }],
      ['ratelimit.check', { ...about, 'ratelimit.outcome': 'refused' }],
      ['ratelimit.check', { 'ratelimit.outcome': 'allowed' }],
    ])
    expect(spans().every(({ status }) => status.code === SpanStatusCode.UNSET)).toBe(true)
  })

  it('makes children of the active span, which last as long as the decision took', () => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
    onTestFinished(() => context.disable())
    const { tracer, spans } = tracing()
    const limiter = rateLimit({ limit: 1, window: '1m', observer: opentelemetry({ tracer }) })
    const before = Date.now()
    tracer.startActiveSpan('handler', (span) => {
      limiter.check('a')
      span.end()
    })
    const [check, handler] = spans()
    expect(check.spanContext().traceId).toBe(handler.spanContext().traceId)
    expect(check.parentSpanContext?.spanId).toBe(handler.spanContext().spanId)
    expect(check.attributes['ratelimit.rule']).toBe('1-in-1m')
    expect(msOf(check.endTime)).toBeGreaterThanOrEqual(msOf(check.startTime))
    expect(Math.abs(msOf(check.startTime) - before)).toBeLessThan(60_000)
  })

  it('makes none where the sampler says so', () => {
    const exporter = new InMemorySpanExporter()
    const spanProcessors = [new SimpleSpanProcessor(exporter)]
    const provider = new BasicTracerProvider({ sampler: new AlwaysOffSampler(), spanProcessors })
    const limiter = createLimiter({ rules: RULES, observer: opentelemetry({ tracer: provider.getTracer('test') }) })
    limiter.check(ASK)
    expect(exporter.getFinishedSpans()).toEqual([])
  })

  it('uses the provider of the app, registered before or after', () => {
    const limiter = createLimiter({ rules: RULES, observer: opentelemetry() })
    limiter.check(ASK)
    const { provider, spans } = tracing()
    trace.setGlobalTracerProvider(provider)
    onTestFinished(() => trace.disable())
    limiter.check(ASK)
    expect(spans().map(({ instrumentationScope }) => instrumentationScope.name)).toEqual(['sluice'])
  })
})

describe('remoteParent', () => {
  it('is the span that the caller passed, with what it passed along', () => {
    const received = { traceId: 'a'.repeat(32), parentSpanId: 'b'.repeat(16), isSampled: true, traceState: 'x=1' }
    const parent = trace.getSpanContext(remoteParent(received))
    expect(parent).toMatchObject({
      traceId: received.traceId,
      spanId: received.parentSpanId,
      traceFlags: 1,
      isRemote: true,
    })
    expect(parent?.traceState?.serialize()).toBe('x=1')
    expect(trace.getSpanContext(remoteParent({}))).toBeUndefined()
  })
})

describe('WallClock', () => {
  it('follows a clock that is set while the process runs', () => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'], now: Date.now() })
    onTestFinished(() => void vi.useRealTimers())
    const clock = new WallClock()
    vi.setSystemTime(Date.now() + 3_600_000)
    expect(Math.abs(clock.at(performance.now()) - Date.now())).toBeLessThan(1)
  })
})
