import fc from 'fast-check'
import { combine, type RuleVerdict } from 'sluice/internal/core/combine'
import { UNLIMITED_VERDICT } from 'sluice/internal/core/decision'
import type { LimitOptions } from 'sluice/internal/core/limit'
import type { Rule } from 'sluice/internal/core/rules/rule-set'
import { describe, expect, it } from 'vitest'
import { allowed, impossible, refused, ruleNamed, verdictBy } from '../../../../src/core/verdicts.suite.ts'
import { codecOf, RLS_RESPONSE } from '../../protobuf/protos.suite.ts'
import { RlsAnswer } from './rls-answer.ts'
import { rlsAnswerJson } from './rls-json.ts'
import type { RlsOptions } from './rls-options.ts'
import type { RlsRequest } from './rls-request.ts'
import { encodeRlsAnswer, extraFields, mostBytes, structBytes } from './rls-response.ts'
import { RuleForms } from './rule-forms.ts'

const answer = new RlsAnswer(new RuleForms())

const HEADER_NAMES = { limit: 'RateLimit-Limit', remaining: 'RateLimit-Remaining', reset: 'RateLimit-Reset' }

const requestOf = (size: number): RlsRequest => ({
  domain: 'api',
  descriptors: Array.from({ length: size }, () => ({ entries: [{ key: 'a', value: 'b' }], hitsAddend: undefined })),
  cost: 1,
  hitsAddend: 0,
})

/** Answers a request as bytes, in the middle of a buffer that has exactly the room it asks for. */
function respond(request: RlsRequest, verdicts: readonly RuleVerdict[], options: RlsOptions = {}): Uint8Array {
  answer.fold(request, combine(verdicts), options)
  const extra = extraFields(request, answer, options)
  const buffer = new Uint8Array(3 + mostBytes(answer) + extra.length)
  return buffer.slice(3, encodeRlsAnswer(answer, extra, buffer, 3))
}

/** told is an answer as another implementation reads it. */
const binding = (size: number, verdicts: readonly RuleVerdict[], options: RlsOptions = {}): unknown =>
  RLS_RESPONSE.decode(respond(requestOf(size), verdicts, options))

const MINUTE = { requestsPerUnit: 10, unit: 'MINUTE' }

describe('an answer of the rate limit service', () => {
  it('reports the limit, what remains and the seconds until there is more, rounded up', () => {
    expect(binding(1, [verdictBy('a', allowed(7, 41_001))])).toEqual({
      overallCode: 'OK',
      statuses: [{ code: 'OK', currentLimit: MINUTE, limitRemaining: 7, durationUntilReset: { seconds: 42 } }],
    })
  })

  it('reports a refusal by its descriptor and for all, with the time at which the same request is admitted', () => {
    expect(binding(2, [verdictBy('a', allowed(7), 0), verdictBy('b', refused(12_001), 1)])).toEqual({
      overallCode: 'OVER_LIMIT',
      statuses: [
        { code: 'OK', currentLimit: MINUTE, limitRemaining: 7, durationUntilReset: { seconds: 60 } },
        { code: 'OVER_LIMIT', currentLimit: MINUTE, durationUntilReset: { seconds: 13 } },
      ],
    })
  })

  it('has a status for every descriptor, in order, whatever applied to it', () => {
    const free = { ...ruleNamed('free'), unlimited: true }
    expect(binding(4, [verdictBy(free, UNLIMITED_VERDICT, 1), verdictBy('a', impossible(10, 4), 3)])).toEqual({
      overallCode: 'OVER_LIMIT',
      statuses: [
        { code: 'OK' },
        { code: 'OK', limitRemaining: 4_294_967_295 },
        { code: 'OK' },
        { code: 'OVER_LIMIT', currentLimit: MINUTE, limitRemaining: 4, durationUntilReset: {} },
      ],
    })
  })

  it('forgets the answer before', () => {
    binding(3, [verdictBy('a', refused(1), 0), verdictBy('a', refused(1), 1), verdictBy('a', refused(1), 2)])
    expect(binding(2, [])).toEqual({ overallCode: 'OK', statuses: [{ code: 'OK' }, { code: 'OK' }] })
  })

  it('reports the tightest of several limits on one descriptor', () => {
    const daily = ruleNamed('daily', { limit: 100, window: '1d' })
    expect(binding(1, [verdictBy(daily, allowed(2)), verdictBy('a', allowed(7))])).toMatchObject({
      statuses: [{ currentLimit: { requestsPerUnit: 100, unit: 'DAY' }, limitRemaining: 2 }],
    })
    expect(binding(1, [verdictBy('a', refused(500)), verdictBy(daily, allowed(2))])).toMatchObject({
      overallCode: 'OVER_LIMIT',
      statuses: [{ code: 'OVER_LIMIT', currentLimit: MINUTE }],
    })
  })

  it('reports what a shadow rule counts, but never that it refuses', () => {
    const shadow = ruleNamed('s', undefined, true)
    expect(binding(1, [verdictBy(shadow, refused(500))])).toEqual({
      overallCode: 'OK',
      statuses: [{ code: 'OK', currentLimit: MINUTE, durationUntilReset: { seconds: 1 } }],
    })
    expect(binding(1, [verdictBy(shadow, refused(500)), verdictBy('a', allowed(3))])).toMatchObject({
      statuses: [{ code: 'OK', limitRemaining: 3 }],
    })
  })

  it('reports which limits in quota mode refuse, and refuses when all of them do', () => {
    const quota = (verdict: Parameters<typeof verdictBy>[1], descriptor: number): RuleVerdict =>
      verdictBy({ ...ruleNamed('q'), quota: true }, verdict, descriptor)
    expect(binding(2, [quota(refused(500), 0), quota(allowed(1), 1)])).toMatchObject({
      overallCode: 'OK',
      statuses: [{ code: 'OVER_LIMIT' }, { code: 'OK' }],
    })
    expect(binding(2, [quota(refused(500), 0), quota(refused(500), 1)])).toMatchObject({
      overallCode: 'OVER_LIMIT',
      statuses: [{ code: 'OVER_LIMIT' }, { code: 'OVER_LIMIT' }],
    })
  })

  it('lets everything pass in shadow mode, and reports the statuses as they are', () => {
    expect(binding(1, [verdictBy('a', refused(500))], { shadowMode: true })).toMatchObject({
      overallCode: 'OK',
      statuses: [{ code: 'OVER_LIMIT' }],
    })
  })

  it.each<[string, LimitOptions, object]>([
    ['a second', { limit: 5, window: '1s' }, { requestsPerUnit: 5, unit: 'SECOND' }],
    ['an hour', { limit: 5, window: '60m' }, { requestsPerUnit: 5, unit: 'HOUR' }],
    ['a week', { limit: 5, window: '7d' }, { requestsPerUnit: 5, unit: 'WEEK' }],
    ['a month of 30 days', { limit: 5, window: '30d' }, { requestsPerUnit: 5, unit: 'MONTH' }],
    ['a year of 365 days', { limit: 5, window: '365d' }, { requestsPerUnit: 5, unit: 'YEAR' }],
    [
      'a calendar month',
      { limit: 5, algorithm: 'fixed_window', calendar: { unit: 'month' } },
      { requestsPerUnit: 5, unit: 'MONTH' },
    ],
    ['a window of 90 s, which is no unit', { limit: 5, window: '90s' }, { requestsPerUnit: 5 }],
    ['a window below a second', { limit: 5, window: '100ms' }, { requestsPerUnit: 5 }],
    ['places, which have no window', { limit: 5, algorithm: 'concurrency' }, { requestsPerUnit: 5 }],
    ['a limit that blocks everything', { limit: 0, window: '1m' }, { unit: 'MINUTE' }],
    ['the largest limit', { limit: 4_294_967_295, window: '1m' }, { requestsPerUnit: 4_294_967_295, unit: 'MINUTE' }],
  ])('names the unit of %s', (_, limit, currentLimit) => {
    const rule = ruleNamed('p', limit)
    const decoded = binding(1, [verdictBy(rule, allowed(1))]) as { statuses: { currentLimit: object }[] }
    expect(decoded.statuses[0].currentLimit).toEqual(currentLimit)
  })

  it.each<[string, number, string, number | undefined]>([
    ['90s', 90_000, 'SECOND', 90],
    ['1m', 60_000, 'MINUTE', undefined],
    ['10m', 600_000, 'MINUTE', 10],
    ['36h', 129_600_000, 'HOUR', 36],
    ['14d', 1_209_600_000, 'WEEK', 2],
    ['90d', 7_776_000_000, 'MONTH', 3],
    ['730d', 63_072_000_000, 'YEAR', 2],
    ['1500ms', 1_500, '', undefined],
  ])('reports a window of %s in multiples of a unit, where Envoy is new enough', (_, window, unit, multiplier) => {
    const forms = new RuleForms({ unitMultipliers: true })
    const multiples = new RlsAnswer(forms)
    const rule = ruleNamed('p', { limit: 5, window })
    multiples.fold(requestOf(1), combine([verdictBy(rule, allowed(1))]), {})
    const buffer = new Uint8Array(mostBytes(multiples))
    const bytes = buffer.subarray(0, encodeRlsAnswer(multiples, new Uint8Array(0), buffer, 0))
    expect(RLS_RESPONSE.decode(bytes)).toMatchObject({
      statuses: [
        {
          currentLimit: {
            requestsPerUnit: 5,
            ...(unit !== '' && { unit }),
            ...(multiplier !== undefined && { unitMultiplier: { value: multiplier } }),
          },
        },
      ],
    })
    expect(forms.of(rule)).toMatchObject({ unit: unit || 'UNKNOWN', multiplier: multiplier ?? 1 })
  })

  it('names a limit as fields do, so that Envoy can put the name between quotes', () => {
    const named = (rule: Rule): unknown =>
      (binding(1, [verdictBy(rule, allowed(1))]) as { statuses: { currentLimit: { name?: string } }[] }).statuses[0]
        .currentLimit.name
    expect(named({ ...ruleNamed('user/path'), name: 'per user', isNamed: true })).toBe('per user')
    expect(named({ ...ruleNamed('user/path'), isNamed: true })).toBe('user/path')
    expect(named({ ...ruleNamed('user/path'), name: 'a"b\\c\r\nd é制', isNamed: true })).toBe(
      'a%22b%5Cc%0D%0Ad %C3%A9%E5%88%B6',
    )
    expect(named(ruleNamed('user/path'))).toBeUndefined()
    expect(named({ ...ruleNamed('/override'), name: 'override' })).toBeUndefined()
  })

  it('adds headers of the tightest limit, on answers that pass too', () => {
    const verdicts = [verdictBy('a', allowed(7), 0), verdictBy('b', allowed(3, 1_500), 1)]
    const headers = [
      { key: 'RateLimit-Limit', value: '10' },
      { key: 'RateLimit-Remaining', value: '3' },
      { key: 'RateLimit-Reset', value: '2' },
    ]
    expect(binding(2, verdicts, { responseHeaders: HEADER_NAMES })).toMatchObject({ responseHeadersToAdd: headers })
    expect(binding(2, verdicts, { requestHeaders: { limit: 'l', remaining: 'r', reset: 's' } })).toMatchObject({
      requestHeadersToAdd: [
        { key: 'l', value: '10' },
        { key: 'r', value: '3' },
        { key: 's', value: '2' },
      ],
    })
    expect(binding(2, [], { responseHeaders: HEADER_NAMES })).not.toHaveProperty('responseHeadersToAdd')
  })

  const response = (body: string | undefined, headers: [string, string][] = []): Rule => ({
    ...ruleNamed('r'),
    response: { status: 429, body, headers },
  })

  it('answers a refused caller with the body and the headers of the rule', () => {
    const rule = response('{"error":"slow down"}', [['X-Reason', 'quota']])
    expect(binding(1, [verdictBy(rule, refused(500))], { responseHeaders: HEADER_NAMES })).toMatchObject({
      responseHeadersToAdd: [
        { key: 'RateLimit-Limit', value: '10' },
        { key: 'RateLimit-Remaining', value: '0' },
        { key: 'RateLimit-Reset', value: '1' },
        { key: 'content-type', value: 'application/json' },
        { key: 'X-Reason', value: 'quota' },
      ],
      rawBody: Buffer.from('{"error":"slow down"}').toString('base64'),
    })
    expect(binding(1, [verdictBy(rule, allowed(1))])).not.toHaveProperty('rawBody')
    expect(binding(1, [verdictBy(rule, refused(500))], { shadowMode: true })).not.toHaveProperty('rawBody')
  })

  it.each<[string, [string, string][], string]>([
    ['plain text', [], 'text/plain; charset=utf-8'],
    ['<p>no</p>', [['Content-Type', 'text/html']], 'text/html'],
    ['[1]', [], 'application/json'],
    ['12', [], 'text/plain; charset=utf-8'],
  ])('says what the body %s is', (body, headers, type) => {
    const decoded = binding(1, [verdictBy(response(body, headers), refused(500))]) as {
      responseHeadersToAdd: { key: string; value: string }[]
    }
    expect(decoded.responseHeadersToAdd.map(({ value }) => value)).toEqual([type])
  })

  it('has no more room than it asks for, and is read by another implementation', () => {
    const count = fc.nat(4_294_967_295)
    const ms = fc.integer({ min: 0, max: 315_360_000_000 })
    const verdict = fc.oneof(
      fc.tuple(count, ms).map(([remaining, reset]) => allowed(remaining, reset)),
      fc.tuple(ms, count).map(([retry, remaining]) => refused(retry, remaining)),
    )
    const rule = fc
      .tuple(count, fc.constantFrom('1s', '1m', '90s', '365d'), fc.string({ maxLength: 128 }))
      .map(([limit, window, name]) => ({ ...ruleNamed('id', { limit, window }), name }))
    fc.assert(
      fc.property(fc.array(fc.tuple(rule, verdict), { maxLength: 8 }), (all) => {
        const verdicts = all.map(([each, said], i) => verdictBy(each, said, i))
        const decoded = binding(all.length, verdicts) as {
          statuses?: { limitRemaining?: number; currentLimit: object }[]
        }
        expect((decoded.statuses ?? []).map(({ limitRemaining = 0 }) => limitRemaining)).toEqual(
          all.map(([, { remaining }]) => remaining),
        )
      }),
    )
  })
})

describe('dynamic metadata', () => {
  const binding = (request: RlsRequest, verdicts: readonly RuleVerdict[]): unknown => {
    const options = { dynamicMetadata: true }
    const { dynamicMetadata } = RLS_RESPONSE.decode(respond(request, verdicts, options)) as {
      dynamicMetadata: { fields: Record<string, unknown> }
    }
    const plain = plainStruct(dynamicMetadata)
    answer.fold(request, combine(verdicts), options)
    // Both forms of an answer say the same.
    expect(JSON.parse(JSON.stringify(rlsAnswerJson(request, answer, options)))).toMatchObject({
      dynamicMetadata: plain,
    })
    return plain
  }
  const withMetadata = (metadata: Record<string, unknown>): Rule => {
    const step = { isOpen: true, wildcard: undefined, secret: false, sharedAs: undefined }
    return { ...ruleNamed('m'), path: [{ ...step, detailedMetric: false, valueToMetric: false, metadata }] }
  }

  it('reports what was asked', () => {
    const request: RlsRequest = {
      domain: 'api',
      descriptors: [
        {
          entries: [
            { key: 'a', value: '1' },
            { key: 'b', value: '' },
          ],
          hitsAddend: undefined,
        },
        { entries: [], hitsAddend: 0, cost: 0, limit: { requestsPerUnit: 5, unit: 'hour' } },
      ],
      cost: 2,
      hitsAddend: 2,
    }
    expect(binding(request, [])).toEqual({
      domain: 'api',
      descriptors: [{ entries: ['a=1', 'b='] }, { entries: [], hitsAddend: 0, limit: 'requests_per_unit:5 unit:HOUR' }],
      hitsAddend: 2,
    })
  })

  it('merges the metadata of the limits that admit the request, the first to name something winning', () => {
    const verdicts = [
      verdictBy(withMetadata({ team: 'a', deep: { x: 1, list: [1, 'two', null, true, {}] } }), allowed(1), 0),
      verdictBy(withMetadata({ team: 'b', deep: { x: 2, y: false }, more: 1.5 }), allowed(1), 1),
      verdictBy(withMetadata({ refused: true }), refused(5), 2),
    ]
    expect(binding(requestOf(3), verdicts)).toMatchObject({
      metadata: { team: 'a', deep: { x: 1, y: false, list: [1, 'two', null, true, {}] }, more: 1.5 },
    })
    expect(binding(requestOf(3), verdicts)).not.toHaveProperty('metadata.refused')
  })

  it('formats any JSON', () => {
    const struct = codecOf('google.protobuf.Struct')
    fc.assert(
      fc.property(fc.dictionary(fc.string({ minLength: 1 }), fc.jsonValue({ maxDepth: 3 })), (object) => {
        const json = JSON.parse(JSON.stringify(object))
        expect(plainStruct(struct.decode(structBytes(json)))).toEqual(json)
      }),
    )
  })
})

/** Turns a Struct as another implementation reads it into the object it stands for. */
function plainStruct(struct: unknown): Record<string, unknown> {
  const { fields = {} } = struct as { fields?: Record<string, unknown> }
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, plainValue(value)]))
}

function plainValue(value: unknown): unknown {
  const [[kind, content]] = Object.entries(value as Record<string, unknown>)
  if (kind === 'nullValue') return null
  if (kind === 'structValue') return plainStruct(content)
  if (kind === 'listValue') return ((content as { values?: unknown[] }).values ?? []).map(plainValue)
  return content
}
