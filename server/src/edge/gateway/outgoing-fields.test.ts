import { describe, expect, it } from 'vitest'
import { FieldSet } from './fields.ts'
import { answerFields, type Origin, outgoingFields, requestTrailers } from './outgoing-fields.ts'

function fieldsOf(...list: readonly [string, string][]): FieldSet {
  const fields = new FieldSet()
  for (const [name, value] of list) fields.add(name, value)
  return fields
}

/** Lists the values of each field, in lower case. */
function byName(list: readonly string[]): Record<string, string[]> {
  const named: Record<string, string[]> = {}
  for (let i = 0; i < list.length; i += 2) {
    const name = list[i].toLowerCase()
    named[name] = [...(named[name] ?? []), list[i + 1]]
  }
  return named
}

const ORIGIN: Origin = {
  method: 'GET',
  peer: '203.0.113.7',
  scheme: 'https',
  authority: 'a.example',
  isTrusted: false,
  passed: new Set(),
  id: 'id',
  via: '1.1 sluice',
}
const sent = (fields: FieldSet, origin: Partial<Origin> = {}) =>
  byName(outgoingFields(fields, { ...ORIGIN, ...origin }))

describe('the fields of an answer', () => {
  it('have the fields of the gate in place of the upstream’s own limits, in any case', () => {
    const upstream = fieldsOf(['ratelimit', 'theirs'], ['RateLimit-Policy', 'theirs'], ['X-Else', 'theirs'])
    const answer = byName(answerFields(upstream, ['RateLimit', 'ours', 'ratelimit-policy', 'ours'], 'id'))
    expect(answer).toMatchObject({ ratelimit: ['ours'], 'ratelimit-policy': ['ours'], 'x-else': ['theirs'] })
    expect(byName(answerFields(upstream, undefined, 'id'))).toMatchObject({ ratelimit: ['theirs'] })
  })

  it('leave out what is for one hop, and have a date and one id', () => {
    const upstream = fieldsOf(['Connection', 'x-hop'], ['X-Hop', '1'], ['Keep-Alive', '5'], ['X-Request-Id', 'theirs'])
    const answer = byName(answerFields(upstream, undefined, 'id'))
    expect(answer).toEqual({ date: [expect.any(String)], 'x-request-id': ['id'] })
    expect(byName(answerFields(fieldsOf(['Date', 'theirs']), undefined, 'id')).date).toEqual(['theirs'])
  })
})

describe('the fields of a request', () => {
  const client = fieldsOf(
    ['X-Forwarded-For', '10.0.0.1'],
    ['X-Forwarded-Proto', 'http'],
    ['X-Forwarded-Host', 'b.example'],
    ['Forwarded', 'for=10.0.0.1'],
    ['Cookie', 'a=1'],
    ['cookie', 'b=2'],
  )

  it('say where it came from, whatever the client says of that', () => {
    expect(sent(client)).toEqual({
      cookie: ['a=1; b=2'],
      'x-forwarded-for': ['203.0.113.7'],
      'x-forwarded-proto': ['https'],
      'x-forwarded-host': ['a.example'],
      forwarded: ['for=203.0.113.7;host=a.example;proto=https'],
      via: ['1.1 sluice'],
      'x-request-id': ['id'],
    })
  })

  it('keep what a trusted proxy says, and append to it', () => {
    expect(sent(client, { isTrusted: true, peer: '::1' })).toMatchObject({
      'x-forwarded-for': ['10.0.0.1, ::1'],
      'x-forwarded-proto': ['http'],
      'x-forwarded-host': ['b.example'],
      forwarded: ['for=10.0.0.1, for="[::1]";host=a.example;proto=https'],
    })
  })

  it('keep client fields that are passed by name, and none that is written otherwise', () => {
    const passed = new Set(['x-forwarded-host'])
    expect(sent(client, { passed })).toMatchObject({
      'x-forwarded-host': ['b.example'],
      'x-forwarded-proto': ['https'],
    })
  })

  it('leave out what is hidden, also as CGI would read it', () => {
    const keys = fieldsOf(['X-Api-Key', 'k'], ['x_api_key', 'k'], ['X-Api-Keys', 'k'])
    expect(Object.keys(sent(keys, { hidden: 'x-api-key' }))).toContain('x-api-keys')
    expect(Object.keys(sent(keys, { hidden: 'x-api-key' })).filter((name) => /^x.api.key$/.test(name))).toEqual([])
  })

  it.each([
    ['OPTIONS', '3', '2'],
    ['TRACE', '1', '0'],
    ['OPTIONS', '0', '0'],
    ['GET', '3', '3'],
  ])('count hops of %s down from %s to %s', (method, before, after) => {
    expect(sent(fieldsOf(['Max-Forwards', before]), { method })['max-forwards']).toEqual([after])
  })
})

it('trailers of a request do not say where it came from, nor what Connection takes away', () => {
  const trailers = fieldsOf(['X-Sum', '1'], ['X-Forwarded-Host', 'b.example'], ['X-Hop', '2'])
  expect(requestTrailers(trailers, fieldsOf(['Connection', 'x-hop']))).toEqual(['X-Sum', '1'])
  expect(requestTrailers(undefined, fieldsOf())).toBeUndefined()
})
