import { afterAll, describe, expect, it } from 'vitest'
import type { RlsOptions } from '../../server/src/edge/rls/rls-options.ts'
import { loadRules } from '../../src/core/rules/load.ts'
import { entriesOf, sceneOf } from '../rules/examples.suite.ts'
import { fromJson, startService, type TestService } from './rls-service.suite.ts'

/*
 * What envoyproxy/ratelimit documents and does, as a table: rules, requests, and what it answers. Each row is asked twice,
 * over gRPC with grpc-js and as JSON, on a limiter of its own. The clock stands still at the start of a minute, an hour
 * and a day.
 */

const HEADER_NAMES = { limit: 'RateLimit-Limit', remaining: 'RateLimit-Remaining', reset: 'RateLimit-Reset' }

interface Case {
  readonly claim: string
  readonly rules: string
  readonly options?: RlsOptions
  readonly steps: readonly Step[]
}

/** A Step is a request (the domain is `d` unless it says otherwise) and what the answer contains. */
type Step = readonly [request: object, answer: object | string]

/** Makes a request of descriptors that are written as `key=value, key=value`. */
const asks = (...descriptors: (string | object)[]): { descriptors: object[] } => ({
  descriptors: descriptors.map((each) => (typeof each === 'string' ? { entries: entriesOf(each) } : each)),
})
const withHits = (entries: string, hits: object): object => ({ entries: entriesOf(entries), ...hits })

const OK = (limit: string, remaining = 0): object => status('OK', limit, remaining)
const OVER = (limit: string, remaining = 0): object => status('OVER_LIMIT', limit, remaining)
const NONE = { code: 'OK' }

/** Formats a status: `5 MINUTE`, or `5 MINUTE name`. */
function status(code: string, limit: string, remaining: number): object {
  const [requests, unit, name] = limit.split(' ')
  return {
    code,
    currentLimit: {
      ...(requests !== '0' && { requestsPerUnit: Number(requests) }),
      unit,
      ...(name !== undefined && { name }),
    },
    ...(remaining > 0 && { limitRemaining: remaining }),
  }
}

const passes = (...statuses: object[]): object => ({ overallCode: 'OK', statuses })
const refused = (...statuses: object[]): object => ({ overallCode: 'OVER_LIMIT', statuses })

const PER_MINUTE = (limit: number): string => `{unit: minute, requests_per_unit: ${limit}}`

const CASES: readonly Case[] = [
  {
    claim: 'a limit admits so many requests in its unit, and then none',
    rules: `[{key: user, rate_limit: ${PER_MINUTE(2)}}]`,
    steps: [
      [asks('user=a'), passes({ ...OK('2 MINUTE', 1), durationUntilReset: { seconds: 60 } })],
      [asks('user=a'), passes(OK('2 MINUTE'))],
      [asks('user=a'), refused(OVER('2 MINUTE'))],
      [asks('user=b'), passes(OK('2 MINUTE', 1))],
    ],
  },
  {
    claim: 'a domain must not be empty',
    rules: '[]',
    steps: [[{ domain: '', ...asks('user=a') }, '2: rate limit domain must not be empty']],
  },
  {
    claim: 'a list of descriptors must not be empty',
    rules: '[]',
    steps: [[{ descriptors: [] }, '2: rate limit descriptor list must not be empty']],
  },
  {
    claim: 'an unknown domain has no limits, overrides included',
    rules: `[{key: user, rate_limit: ${PER_MINUTE(0)}}]`,
    steps: [
      [{ domain: 'other', ...asks('user=a') }, passes(NONE)],
      [{ domain: 'other', ...asks(withHits('user=a', { limit: { requestsPerUnit: 0, unit: 'DAY' } })) }, passes(NONE)],
    ],
  },
  {
    claim: 'a descriptor that matches nothing has no limit, and its status no current_limit',
    rules: `[{key: user, rate_limit: ${PER_MINUTE(2)}}]`,
    steps: [
      [asks('colour=blue', 'user=a'), passes(NONE, OK('2 MINUTE', 1))],
      [asks({}), passes(NONE)],
    ],
  },
  {
    claim: 'an exact value goes before the bare key',
    rules: `[{key: user, rate_limit: ${PER_MINUTE(2)}}, {key: user, value: vip, rate_limit: ${PER_MINUTE(50)}}]`,
    steps: [[asks('user=vip', 'user=a'), passes(OK('50 MINUTE', 49), OK('2 MINUTE', 1))]],
  },
  {
    claim: 'levels match one by one, and a limit applies at its own depth',
    rules: `[{key: type, value: marketing, descriptors: [{key: to, rate_limit: {unit: day, requests_per_unit: 5}}]},
      {key: to, rate_limit: {unit: day, requests_per_unit: 100}}]`,
    steps: [
      [asks('type=marketing, to=1', 'to=1'), passes(OK('5 DAY', 4), OK('100 DAY', 99))],
      [asks('type=marketing', 'type=marketing, to=1, x=1', 'to=1, type=marketing'), passes(NONE, NONE, NONE)],
    ],
  },
  {
    claim: 'a wildcard matches by its prefix, after exact values and before the bare key',
    rules: `[{key: path, rate_limit: ${PER_MINUTE(1)}}, {key: path, value: /api*, rate_limit: ${PER_MINUTE(2)}},
      {key: path, value: /api/login, rate_limit: ${PER_MINUTE(3)}}]`,
    steps: [
      [asks('path=/api/login', 'path=/api/x', 'path=/'), passes(OK('3 MINUTE', 2), OK('2 MINUTE', 1), OK('1 MINUTE'))],
      [asks('path=/api/y'), passes(OK('2 MINUTE', 1))],
    ],
  },
  {
    claim: 'share_threshold counts all values of a wildcard together',
    rules: `[{key: path, value: /api*, share_threshold: true, rate_limit: ${PER_MINUTE(2)}}]`,
    steps: [
      [asks('path=/api/x'), passes(OK('2 MINUTE', 1))],
      [asks('path=/api/y'), passes(OK('2 MINUTE'))],
      [asks('path=/api/z'), refused(OVER('2 MINUTE'))],
    ],
  },
  {
    claim: 'requests_per_unit: 0 blocks everything',
    rules: '[{key: user, value: banned, rate_limit: {unit: second, requests_per_unit: 0}}]',
    steps: [[asks('user=banned'), refused(OVER('0 SECOND'))]],
  },
  {
    claim: 'unlimited has all there is left, and no current_limit',
    rules: `[{key: user, rate_limit: ${PER_MINUTE(1)}}, {key: user, value: vip, rate_limit: {unlimited: true}}]`,
    steps: [[asks('user=vip', 'user=a'), passes({ code: 'OK', limitRemaining: 4_294_967_295 }, OK('1 MINUTE'))]],
  },
  {
    claim: 'every unit is written as it was given',
    rules: `[${['second', 'minute', 'hour', 'day', 'week', 'month', 'year']
      .map((unit) => `{key: ${unit}, rate_limit: {unit: ${unit}, requests_per_unit: 9}}`)
      .join(', ')}]`,
    steps: [
      [
        asks('second=1', 'minute=1', 'hour=1', 'day=1', 'week=1', 'month=1', 'year=1'),
        passes(...['SECOND', 'MINUTE', 'HOUR', 'DAY', 'WEEK', 'MONTH', 'YEAR'].map((unit) => OK(`9 ${unit}`, 8))),
      ],
    ],
  },
  {
    claim: 'a named limit reports its name',
    rules: '[{key: user, rate_limit: {name: per-user, unit: hour, requests_per_unit: 9}}]',
    steps: [[asks('user=a'), passes(OK('9 HOUR per-user', 8))]],
  },
  {
    claim: 'a limit that is replaced is not counted, and its status is bare',
    rules: `[{key: user, rate_limit: {name: per-user, unit: minute, requests_per_unit: 1}},
      {key: feature, value: bulk, rate_limit: {name: bulk, replaces: [{name: per-user}], unit: minute, requests_per_unit: 9}}]`,
    steps: [
      [asks('user=a', 'feature=bulk'), passes(NONE, OK('9 MINUTE bulk', 8))],
      [asks('user=a', 'feature=bulk'), passes(NONE, OK('9 MINUTE bulk', 7))],
      [asks('user=a'), passes(OK('1 MINUTE per-user'))],
      [asks('user=a'), refused(OVER('1 MINUTE per-user'))],
    ],
  },
  {
    claim: 'shadow_mode turns the code to OK, and keeps the limit and the remaining budget',
    rules: `[{key: user, shadow_mode: true, rate_limit: ${PER_MINUTE(1)}}]`,
    steps: [
      [asks('user=a'), passes(OK('1 MINUTE'))],
      [asks('user=a'), passes(OK('1 MINUTE'))],
    ],
  },
  {
    claim: 'one that is over the limit is enough, and a shadow rule is not',
    rules: `[{key: a, shadow_mode: true, rate_limit: ${PER_MINUTE(0)}}, {key: b, rate_limit: ${PER_MINUTE(0)}},
      {key: c, rate_limit: ${PER_MINUTE(5)}}]`,
    steps: [
      [asks('a=1', 'c=1'), passes(OK('0 MINUTE'), OK('5 MINUTE', 4))],
      [asks('a=1', 'b=1'), refused(OK('0 MINUTE'), OVER('0 MINUTE'))],
    ],
  },
  {
    claim: 'SHADOW_MODE lets everything pass, and leaves the statuses',
    options: { shadowMode: true },
    rules: `[{key: user, rate_limit: ${PER_MINUTE(0)}}, {key: path, rate_limit: ${PER_MINUTE(9)}}]`,
    steps: [
      [asks('user=a', 'path=/'), passes(OVER('0 MINUTE'), OK('9 MINUTE', 8))],
      [asks('user=a', 'path=/'), passes(OVER('0 MINUTE'), OK('9 MINUTE', 7))],
    ],
  },
  {
    claim: 'quota_mode refuses when all limits in quota mode are over',
    rules: `[{key: pool, value: a, quota_mode: true, rate_limit: ${PER_MINUTE(1)}},
      {key: pool, value: b, quota_mode: true, rate_limit: ${PER_MINUTE(2)}}]`,
    steps: [
      [asks('pool=a', 'pool=b'), passes(OK('1 MINUTE'), OK('2 MINUTE', 1))],
      [asks('pool=a', 'pool=b'), passes(OVER('1 MINUTE'), OK('2 MINUTE'))],
      [asks('pool=a', 'pool=b'), refused(OVER('1 MINUTE'), OVER('2 MINUTE'))],
    ],
  },
  {
    claim: 'quota_mode does not help where another limit is over',
    rules: `[{key: pool, quota_mode: true, rate_limit: ${PER_MINUTE(5)}}, {key: user, rate_limit: ${PER_MINUTE(0)}}]`,
    steps: [[asks('pool=a', 'user=a'), refused(OK('5 MINUTE', 5), OVER('0 MINUTE'))]],
  },
  {
    claim: 'hits_addend of the request counts for every descriptor, and 0 means 1',
    rules: `[{key: user, rate_limit: ${PER_MINUTE(10)}}, {key: path, rate_limit: ${PER_MINUTE(20)}}]`,
    steps: [
      [{ ...asks('user=a', 'path=/'), hitsAddend: 3 }, passes(OK('10 MINUTE', 7), OK('20 MINUTE', 17))],
      [{ ...asks('user=a'), hitsAddend: 0 }, passes(OK('10 MINUTE', 6))],
    ],
  },
  {
    claim: 'hits_addend of a descriptor goes before that of the request, and 0 only looks',
    rules: `[{key: user, rate_limit: ${PER_MINUTE(10)}}]`,
    steps: [
      [
        { ...asks(withHits('user=a', { hitsAddend: { value: 4 } }), 'user=b'), hitsAddend: 2 },
        passes(OK('10 MINUTE', 6), OK('10 MINUTE', 8)),
      ],
      [asks(withHits('user=a', { hitsAddend: { value: 0 } })), passes(OK('10 MINUTE', 6))],
      [asks(withHits('user=a', { hitsAddend: { value: 0 } })), passes(OK('10 MINUTE', 6))],
    ],
  },
  {
    claim: 'hits that come when all is over count too, with count_denied',
    rules: '[{key: user, rate_limit: {unit: minute, requests_per_unit: 10, count_denied: true}}]',
    steps: [
      [{ ...asks('user=a'), hitsAddend: 6 }, passes(OK('10 MINUTE', 4))],
      [{ ...asks('user=a'), hitsAddend: 7 }, refused(OVER('10 MINUTE'))],
      [asks(withHits('user=a', { hitsAddend: { value: 1 } })), refused(OVER('10 MINUTE'))],
    ],
  },
  {
    claim: 'negative hits give back, never more than was taken, and are always OK',
    rules: `[{key: user, rate_limit: ${PER_MINUTE(10)}}]`,
    steps: [
      [{ ...asks('user=a'), hitsAddend: 10 }, passes(OK('10 MINUTE'))],
      [asks(withHits('user=a', { hitsAddend: { value: 4 }, isNegativeHits: true })), passes(OK('10 MINUTE', 4))],
      [asks(withHits('user=a', { hitsAddend: { value: 99 }, isNegativeHits: true })), passes(OK('10 MINUTE', 10))],
      [asks('user=a'), passes(OK('10 MINUTE', 9))],
    ],
  },
  {
    claim: 'a limit that the request brings along goes before the rules',
    rules: `[{key: user, shadow_mode: true, rate_limit: ${PER_MINUTE(1)}}]`,
    steps: [
      [asks(withHits('user=a', { limit: { requestsPerUnit: 2, unit: 'HOUR' } })), passes(OK('2 HOUR', 1))],
      [asks(withHits('user=a', { limit: { requestsPerUnit: 2, unit: 'HOUR' } })), passes(OK('2 HOUR'))],
      [asks(withHits('user=a', { limit: { requestsPerUnit: 2, unit: 'HOUR' } })), refused(OVER('2 HOUR'))],
      [asks(withHits('user=b', { limit: { requestsPerUnit: 2, unit: 'HOUR' } })), passes(OK('2 HOUR', 1))],
      [asks('user=a'), passes(OK('1 MINUTE'))],
    ],
  },
  {
    claim: 'response headers describe the tightest limit, on answers that pass too',
    options: { responseHeaders: HEADER_NAMES, requestHeaders: { ...HEADER_NAMES, limit: 'x-limit' } },
    rules: `[{key: user, rate_limit: ${PER_MINUTE(10)}}, {key: path, rate_limit: {unit: hour, requests_per_unit: 2}}]`,
    steps: [
      [asks('user=a', 'path=/'), { responseHeadersToAdd: headers('RateLimit-Limit', 2, 1, 3_600) }],
      [asks('user=a', 'path=/'), { requestHeadersToAdd: headers('x-limit', 2, 0, 3_600) }],
      [{ ...asks('user=a'), hitsAddend: 3 }, { responseHeadersToAdd: headers('RateLimit-Limit', 10, 5, 60) }],
    ],
  },
  {
    claim: 'dynamic metadata has the request, and the metadata of the limits that admit it',
    options: { dynamicMetadata: true },
    rules: `[{key: user, metadata: {team: payments, deep: {a: 1}}, rate_limit: ${PER_MINUTE(10)}},
      {key: path, metadata: {team: edge, deep: {b: 2}}, rate_limit: ${PER_MINUTE(10)}}]`,
    steps: [
      [
        { ...asks('user=a', 'path=/, x=1', 'path=/'), hitsAddend: 2 },
        {
          dynamicMetadata: {
            domain: 'd',
            descriptors: [{ entries: ['user=a'] }, { entries: ['path=/', 'x=1'] }, { entries: ['path=/'] }],
            hitsAddend: 2,
            metadata: { team: 'payments', deep: { a: 1, b: 2 } },
          },
        },
      ],
    ],
  },
]

function headers(first: string, limit: number, remaining: number, reset: number): object[] {
  return [
    { key: first, value: String(limit) },
    { key: 'RateLimit-Remaining', value: String(remaining) },
    { key: 'RateLimit-Reset', value: String(reset) },
  ]
}

const ROWS = CASES.map((row) => [row.claim, row] as const)

const services: TestService[] = []
afterAll(() => Promise.all(services.map((service) => service.close())))

async function serviceOf({ rules, options }: Case): Promise<TestService> {
  const text = `domain: d\ndescriptors: ${rules}`
  const parts = { shadow: options?.shadowMode === true }
  const service = await startService(sceneOf(loadRules([{ file: 'd.yaml', text }]), 'd', parts).limiter, options)
  services.push(service)
  return service
}

describe('the rate limit service, as envoyproxy/ratelimit documents it', () => {
  it.each(ROWS)('%s, over gRPC', async (_, row) => {
    const service = await serviceOf(row)
    for (const [request, answer] of row.steps) {
      const answered = await service.ask({ domain: 'd', ...request })
      if (typeof answer === 'string') expect(answered).toBe(answer)
      else expect(withPlainMetadata(answered)).toMatchObject(answer)
    }
  })

  it.each(ROWS)('%s, as JSON', async (_, row) => {
    const service = await serviceOf(row)
    for (const [request, answer] of row.steps) {
      const response = await service.post('/json', jsonRequest({ domain: 'd', ...request }))
      const answered = fromJson(await response.json())
      if (typeof answer === 'string') {
        expect([response.status, answered]).toMatchObject([400, { detail: answer.slice(3) }])
      } else {
        const code = 'overallCode' in answer ? answer.overallCode : 'OK'
        expect([response.status, answered]).toMatchObject([code === 'OK' ? 200 : 429, answer])
      }
    }
  })
})

/** Formats wrapped numbers the way JSON does: as the number itself. */
function jsonRequest(request: object): object {
  return JSON.parse(JSON.stringify(request), (key, value) =>
    key === 'hitsAddend' && typeof value === 'object' ? value.value : value,
  )
}

/** Replaces a Struct as protobufjs reads it by the object it stands for. */
function withPlainMetadata(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(answer), (_, value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    const [[kind, content] = []] = Object.entries(value)
    if (kind === 'fields' || kind === 'structValue' || kind === 'stringValue' || kind === 'numberValue') return content
    return kind === 'listValue' ? (content as { values: unknown }).values : value
  })
}
