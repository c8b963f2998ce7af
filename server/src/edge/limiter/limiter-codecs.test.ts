import fc from 'fast-check'
import { combine, UNLIMITED } from 'sluice/internal/core/combine'
import { decisionJson } from 'sluice/internal/core/http/decision-json'
import { PRIORITY_WORDS, type Priority } from 'sluice/internal/core/shedding/priority'
import { describe, expect, it } from 'vitest'
import { allowed, impossible, refused, ruleNamed, verdictBy } from '../../../../src/core/verdicts.suite.ts'
import { codecOf } from '../../protobuf/protos.suite.ts'
import { MalformedMessage, ProtoReader } from '../../protobuf/reader.ts'
import { texts } from '../../protobuf/texts.suite.ts'
import { join, messageField, numberField, textField } from '../../protobuf/writer.ts'
import {
  checkRequest,
  decodeAcquireRequest,
  decodeCheckRequest,
  decodeReleaseRequest,
  decodeRenewRequest,
} from './limiter-request.ts'
import { encodeAcquireResponse, encodeCheckResponse } from './limiter-response.ts'

const reader = new ProtoReader()
const CHECK_REQUEST = codecOf('sluice.v1.CheckRequest')
const CHECK_RESPONSE = codecOf('sluice.v1.CheckResponse')

const text = texts(60)
const cost = fc.option(fc.integer({ min: -4_294_967_295, max: 4_294_967_295 }), { nil: undefined })
const count = fc.nat(4_294_967_295)
const units = ['second', 'minute', 'hour', 'day', 'month', 'year', 'week'] as const
const limit = fc.record({
  requestsPerUnit: count,
  unit: fc.constantFrom(...units),
  unitMultiplier: fc.integer({ min: 1, max: 1_000 }),
})
const request = fc.record({
  domain: text,
  descriptors: fc.array(
    fc.record({
      entries: fc.array(fc.record({ key: text, value: text }), { maxLength: 4 }),
      cost,
      limit: fc.option(limit, { nil: undefined }),
    }),
    { maxLength: 4 },
  ),
  cost,
  priority: fc.option(fc.constantFrom<Priority[]>(0, 1, 2, 3), { nil: undefined }),
})

/** A request as a client sends it. */
const wire = ({
  domain,
  descriptors,
  cost: own,
  priority,
}: typeof request extends fc.Arbitrary<infer R> ? R : never) => ({
  domain,
  cost: own,
  ...(priority !== undefined && { priority: `PRIORITY_${PRIORITY_WORDS[priority].toUpperCase()}` }),
  descriptors: descriptors.map((each) => ({
    ...each,
    limit: each.limit && { ...each.limit, unit: `UNIT_${each.limit.unit.toUpperCase()}` },
  })),
})

describe('requests of sluice.v1.Limiter', () => {
  it('are read as another implementation wrote them', () => {
    fc.assert(
      fc.property(fc.array(request, { maxLength: 4 }), (requests) => {
        const read = decodeCheckRequest(reader, CHECK_REQUEST.encode({ requests: requests.map(wire) }))
        expect(read).toEqual(requests.map((each) => ({ ...each, cost: each.cost ?? 1 })))
      }),
    )
  })

  it('are read to be acquired, in parts too', () => {
    const acquire = codecOf('sluice.v1.AcquireRequest')
    const entries = [{ key: 'a', value: 'b' }]
    const bytes = join([
      acquire.encode({ request: { domain: 'd', descriptors: [{ entries }] } }),
      acquire.encode({ request: { descriptors: [{ entries, cost: 0 }], cost: -3 } }),
    ])
    expect(decodeAcquireRequest(reader, bytes)).toEqual({
      domain: 'd',
      descriptors: [{ entries }, { entries, cost: 0 }],
      cost: -3,
    })
    expect(decodeReleaseRequest(reader, codecOf('sluice.v1.ReleaseRequest').encode({ lease: 'text' }))).toBe('text')
    const renew = codecOf('sluice.v1.RenewRequest')
    expect(decodeRenewRequest(reader, renew.encode({ leases: ['one', 'two'] }))).toEqual(['one', 'two'])
  })

  it('have no priority of another number', () => {
    const [read] = decodeCheckRequest(reader, join([messageField(1, textField(1, 'd'), numberField(4, 5))]))
    expect(() => checkRequest(read)).toThrow('REQUEST_INVALID: priority: no priority has this number')
    expect(() => checkRequest({ ...read, priority: undefined })).toThrow('descriptor list must not be empty')
  })

  it('are bounded', () => {
    const leases = Array.from({ length: 101 }, () => 'a')
    const renew = codecOf('sluice.v1.RenewRequest').encode({ leases })
    expect(() => decodeRenewRequest(reader, renew)).toThrow(new MalformedMessage('more than 100 leases'))
    const many = { requests: Array.from({ length: 257 }, () => ({})) }
    expect(() => decodeCheckRequest(reader, CHECK_REQUEST.encode(many))).toThrow(
      new MalformedMessage('more than 256 requests'),
    )
    const one = { requests: [{ descriptors: Array.from({ length: 65 }, () => ({})) }] }
    expect(() => decodeCheckRequest(reader, CHECK_REQUEST.encode(one))).toThrow('more than 64 descriptors')
    const deep = { requests: [{ descriptors: [{ entries: Array.from({ length: 33 }, () => ({})) }] }] }
    expect(() => decodeCheckRequest(reader, CHECK_REQUEST.encode(deep))).toThrow('more than 32 entries')
  })

  it('are refused where they make no sense', () => {
    const entries = [{ key: 'a', value: 'b' }]
    expect(() => checkRequest({ domain: '', descriptors: [{ entries }] })).toThrow('domain must not be empty')
    expect(() => checkRequest({ domain: 'd', descriptors: [] })).toThrow('descriptor list must not be empty')
    const [unknown] = decodeCheckRequest(
      reader,
      messageField(1, textField(1, 'd'), messageField(2, messageField(3, numberField(1, 5)))),
    )
    expect(() => checkRequest(unknown)).toThrow('descriptors[0].limit.unit: the unit of time is missing')
  })

  it('that ask for nothing are refused with one error, not with a new one for each', () => {
    const errorOf = (domain: string): unknown => {
      try {
        checkRequest({ domain, descriptors: [] })
      } catch (error) {
        return error
      }
      return undefined
    }
    expect(errorOf('')).toBe(errorOf(''))
    expect(errorOf('d')).toBe(errorOf('d'))
  })

  it('are read or refused, whatever the bytes are', () => {
    const change = fc.record({ at: fc.nat(200), to: fc.nat(255) })
    fc.assert(
      fc.property(fc.array(request, { maxLength: 3 }), fc.array(change, { maxLength: 4 }), (requests, changes) => {
        const bytes = CHECK_REQUEST.encode({ requests: requests.map(wire) })
        for (const { at, to } of changes) if (at < bytes.length) bytes[at] = to
        try {
          decodeCheckRequest(reader, bytes)
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedMessage)
        }
      }),
      { numRuns: 1_000 },
    )
  })
})

describe('answers of sluice.v1.Limiter', () => {
  const shadow = ruleNamed('s', undefined, true)
  const decisions = [
    UNLIMITED,
    combine([verdictBy('a', allowed(7, 41_001, 250)), verdictBy(shadow, refused(3), 1)]),
    combine([verdictBy('b', { ...refused(0), fallback: 'closed' })]),
    combine([verdictBy('c', impossible(10, 4))]),
    combine([verdictBy('d', { ...allowed(1), fallback: 'local' })]),
  ]

  it('say what the JSON of /v1/check says', () => {
    const { answers } = CHECK_RESPONSE.decode(encodeCheckResponse(decisions)) as { answers: { decision: object }[] }
    expect(answers.map(({ decision }) => jsonOf(decision))).toEqual(
      decisions.map((each) => JSON.parse(JSON.stringify(decisionJson(each)))),
    )
  })

  it('name the layer that shed a request', () => {
    const shed = combine([verdictBy('worker_shed', { ...refused(0), shed: 'worker' })])
    const { answers } = CHECK_RESPONSE.decode(encodeCheckResponse([shed])) as {
      answers: { decision: { reason: string; verdicts: { shed: string }[] } }[]
    }
    expect(answers[0].decision.verdicts[0].shed).toBe('worker')
    expect(answers[0].decision.reason).toBe('the worker is overloaded, and serves more important requests first')
  })

  it('are errors where a request was not decided', () => {
    const answers = [UNLIMITED, { code: 'COST_INVALID', message: 'COST_INVALID: …' }]
    expect(CHECK_RESPONSE.decode(encodeCheckResponse(answers))).toEqual({
      answers: [{ decision: { allowed: true } }, { error: { code: 'COST_INVALID', message: 'COST_INVALID: …' } }],
    })
  })

  it('bring a lease', () => {
    const acquired = codecOf('sluice.v1.AcquireResponse').decode(encodeAcquireResponse(UNLIMITED, 'token'))
    expect(acquired).toEqual({ decision: { allowed: true }, lease: 'token' })
  })
})

interface WireVerdict {
  rule: string
  descriptor?: number
  kind: string
  shadow?: boolean
  limit?: number
  remaining?: number
  resetAfterMs?: number
  retryAfterMs?: number
  delayMs?: number
  maxCost?: number
  fallback?: string
}

/** Turns a Decision as another implementation reads it into the JSON of /v1/check, which leaves out no zeros. */
function jsonOf(decision: { verdicts?: WireVerdict[] }): object {
  return {
    allowed: false,
    ...decision,
    verdicts: (decision.verdicts ?? []).map(({ kind, fallback, ...rest }) => {
      const name = kind.replace('KIND_', '').toLowerCase()
      return {
        descriptor: 0,
        kind: name,
        limit: 0,
        remaining: 0,
        resetAfterMs: 0,
        ...(name === 'allowed' && { delayMs: 0 }),
        ...(name === 'refused' && { retryAfterMs: 0 }),
        ...(fallback !== undefined && { fallback: fallback.replace('FALLBACK_', '').toLowerCase() }),
        ...rest,
      }
    }),
  }
}
