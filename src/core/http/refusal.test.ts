import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { combine, UNLIMITED } from '../combine.ts'
import type { LimitOptions } from '../limit.ts'
import type { Rule, RuleResponse } from '../rules/rule-set.ts'
import { allowed, impossible, refused, ruleNamed, verdictBy } from '../verdicts.suite.ts'
import { refusalOf } from './refusal.ts'

const POST = { method: 'POST', path: '/api/v1/orders' }
const PROBLEM = { accept: 'application/problem+json' }
const answering = (response: Partial<RuleResponse>): Rule => ({
  ...ruleNamed('writes'),
  response: { status: 429, body: undefined, headers: [], ...response },
})

describe('refusalOf', () => {
  it('says what was exceeded, by whom, and when to retry', () => {
    const decision = combine([verdictBy(ruleNamed('writes', { limit: 20, window: '1m' }), refused(41_500))])
    const { status, contentType, body, headers } = refusalOf(decision, 42, { ...POST, scope: 'ip:203.0.113.7' })
    expect([status, contentType, headers]).toEqual([429, 'application/json', []])
    expect(JSON.parse(body)).toEqual({
      error: {
        code: 'RATE_LIMITED',
        message: 'Rate limit exceeded for POST /api/v1/orders. Retry after 42 seconds.',
        retry_after: 42,
        limit: 10,
        window: '1m',
        scope: 'ip:203.0.113.7',
      },
    })
  })

  it.each<[string, LimitOptions, string | undefined]>([
    ['a window', { limit: 1, window: 5_400_000 }, '90m'],
    ['a calendar', { limit: 1, algorithm: 'fixed_window', calendar: { unit: 'month' } }, '1 month'],
    ['places', { limit: 1, algorithm: 'concurrency' }, undefined],
  ])('formats %s', (_, limit, window) => {
    const { body } = refusalOf(combine([verdictBy(ruleNamed('r', limit), refused(1_000))]), 1)
    expect(JSON.parse(body).error.window).toBe(window)
  })

  it.each([
    [
      'one second',
      combine([verdictBy('r', refused(1))]),
      1,
      'Rate limit exceeded for POST /api/v1/orders. Retry after 1 second.',
    ],
    [
      'what never helps',
      combine([verdictBy('r', impossible(10))]),
      undefined,
      'A cost above 10 is never admitted for POST /api/v1/orders, however long one waits.',
    ],
    [
      'a block',
      combine([verdictBy('r', impossible(0, 0))]),
      undefined,
      'Requests are blocked for POST /api/v1/orders.',
    ],
    [
      'places',
      combine([verdictBy(ruleNamed('r', { limit: 1, algorithm: 'concurrency' }), refused(900))]),
      1,
      'Too many concurrent requests for POST /api/v1/orders. Retry after 1 second.',
    ],
  ] as const)('describes %s', (_, decision, retryAfter, message) => {
    const { error } = JSON.parse(refusalOf(decision, retryAfter, POST).body)
    expect(error.message).toBe(message)
    expect(error.retry_after).toBe(retryAfter)
  })

  it('never repeats a query, nor a long path', () => {
    const decision = combine([verdictBy('r', refused(1_000))])
    const { body } = refusalOf(decision, 1, { method: 'GET', path: `/${'a'.repeat(9_000)}?token=secret` })
    expect(body).not.toContain('secret')
    expect(body.length).toBeLessThan(600)
  })

  it('is a problem for callers who ask for one, and names every policy that refuses', () => {
    const decision = combine([
      verdictBy('minute', refused(1_000)),
      verdictBy('day', refused(5_000)),
      verdictBy('hour', allowed(3)),
      verdictBy(ruleNamed('hidden', undefined, true), refused(9_000)),
    ])
    const { contentType, body } = refusalOf(decision, 5, { ...POST, ...PROBLEM })
    expect(contentType).toBe('application/problem+json')
    expect(JSON.parse(body)).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Request cannot be satisfied as assigned quota has been exceeded',
      status: 429,
      detail: 'Rate limit exceeded for POST /api/v1/orders. Retry after 5 seconds.',
      'violated-policies': ['minute', 'day'],
    })
  })

  it('is a 503 where the store is unavailable and the rule says closed', () => {
    const decision = combine([verdictBy('r', { ...refused(1_000), fallback: 'closed' })])
    expect(refusalOf(decision, 1).status).toBe(503)
    expect(JSON.parse(refusalOf(decision, 1).body).error.code).toBe('UNAVAILABLE')
    expect(JSON.parse(refusalOf(decision, 1, PROBLEM).body)).toMatchObject({
      type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
      status: 503,
    })
    expect(refusalOf({ ...UNLIMITED, allowed: false }, 1).status).toBe(503)
  })

  it.each<[string, Partial<RuleResponse>, object]>([
    ['text', { body: 'slow down' }, { status: 429, contentType: 'text/plain; charset=utf-8', body: 'slow down' }],
    ['JSON', { body: ' {"a":1}', status: 420 }, { status: 420, contentType: 'application/json', body: ' {"a":1}' }],
    [
      'a type',
      { body: '<p>', headers: [['content-Type', 'text/html']] },
      { contentType: 'text/html', body: '<p>', headers: [['content-Type', 'text/html']] },
    ],
    ['a status alone', { status: 403 }, { status: 403, contentType: 'application/json' }],
  ])('is what the rule says: %s', (_, response, expected) => {
    expect(refusalOf(combine([verdictBy(answering(response), refused(1_000))]), 1)).toMatchObject(expected)
  })

  it('is JSON whatever rules, paths and methods are called', () => {
    // Any code units, with halves of characters: to make the first string of fast-check's `binary` takes seconds.
    const text = fc.array(fc.integer({ min: 0, max: 0xff_ff })).map((units) => String.fromCharCode(...units))
    fc.assert(
      fc.property(text, text, text, fc.boolean(), (name, method, path, isProblem) => {
        const decision = combine([verdictBy(name, refused(1_000))])
        const { body } = refusalOf(decision, 1, { method, path, scope: name, ...(isProblem && PROBLEM) })
        expect(typeof JSON.parse(body)).toBe('object')
        // Well-formed: no half of a character.
        expect(Buffer.from(body, 'utf8').toString('utf8')).toBe(body)
      }),
    )
  })
})
