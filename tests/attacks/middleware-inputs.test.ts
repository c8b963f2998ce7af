import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import type { RuleFile } from '../../src/core/rules/schema.ts'
import { type SimpleRequest, simpleReader } from '../../src/http-door/gate.suite.ts'
import { Gate, type GateOptions } from '../../src/http-door/gate.ts'
import { sharedRedis } from '../servers/shared.ts'
import { until } from '../servers/until.mjs'

/** What a client may put where an address, a key, a path or a method is expected: more than HTTP itself lets through. */
const INPUTS = [
  '',
  ' ',
  '\u0000',
  '\ud800',
  'a\udfff\ud800b',
  '\ufeff\u202e',
  '%',
  '%zz%E0%A4%A',
  '%ED%A0%80',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '*',
  '|={}%7c',
  'a~0123456789abcdef',
  '\r\nSet-Cookie: a=b',
  '::ffff:1.2.3.4%eth0',
  '[::1]:80',
  '999.999.999.999',
  'for="[::1]:x";by=,,;',
  '{}',
  '../'.repeat(10_000),
  '%41'.repeat(100_000),
  'x'.repeat(1_000_000),
  'é'.repeat(300_000),
]

const RULES: RuleFile = {
  domain: 'app',
  descriptors: ['path', 'method', 'ip', 'api_key', 'user', 'tenant'].map((key) => ({
    key,
    rate_limit: { unit: 'hour', requests_per_unit: 1, timeout_ms: 10_000 },
  })),
}

const asHeader = (name: string) => (text: string) => ({ ip: '203.0.113.7', headers: { [name]: text } })
const PLACES: readonly (readonly [place: string, request: (text: string) => SimpleRequest])[] = [
  ['address', (text) => ({ ip: text })],
  ['path', (text) => ({ ip: '203.0.113.7', url: `/${text}` })],
  ['target', (text) => ({ ip: '203.0.113.7', url: text })],
  ['method', (text) => ({ ip: '203.0.113.7', method: text })],
  ['query', (text) => ({ ip: '203.0.113.7', url: `/?key=${text}` })],
  ...['x-api-key', 'authorization', 'x-forwarded-for', 'accept', 'x-user', 'x-tier'].map(
    (name) => [name, asHeader(name)] as const,
  ),
  ['bearer', (text) => asHeader('authorization')(`Bearer ${text}`)],
]

const IDENTITY: GateOptions<SimpleRequest>['identity'] = {
  apiKey: { query: 'key' },
  user: ({ headers }) => headers?.['x-user'],
  tier: ({ headers }) => headers?.['x-tier'],
}

describe('whatever a client sends is counted', () => {
  let redis: string

  beforeAll(async () => {
    redis = (await sharedRedis()).url
  })

  const admitted = async (options: GateOptions<SimpleRequest>, request: SimpleRequest): Promise<boolean[]> => {
    const errors: unknown[] = []
    const gate = new Gate({ identity: IDENTITY, onError: (error) => void errors.push(error), ...options }, simpleReader)
    const passes = [await gate.enter(request), await gate.enter(request)]
    for (const pass of passes) gate.refusal(pass, request, gate.fields(pass).retryAfterSeconds)
    await gate.close()
    expect(errors).toEqual([])
    return passes.map(({ allowed }) => allowed)
  }

  it.each(PLACES)('as %s, by a limit', async (_, requestOf) => {
    for (const text of INPUTS) {
      const options = { limit: { free: 1, pro: 1 }, window: '1d' } as const
      expect([text.slice(0, 20), ...(await admitted(options, requestOf(text)))]).toEqual([
        text.slice(0, 20),
        true,
        false,
      ])
    }
  })

  it.each(PLACES)('as %s, by rules', async (_, requestOf) => {
    for (const text of INPUTS) {
      expect([text.slice(0, 20), ...(await admitted({ rules: RULES }, requestOf(text)))]).toEqual([
        text.slice(0, 20),
        true,
        false,
      ])
    }
  })

  it.each(PLACES)('as %s, in Redis', async (_, requestOf) => {
    const errors: unknown[] = []
    // What is decided before there is a connection is admitted: only Redis refuses.
    const descriptors = RULES.descriptors?.map((each) => ({
      ...each,
      rate_limit: { ...each.rate_limit, on_store_failure: 'open' as const },
    }))
    const options = { rules: { domain: randomUUID(), descriptors } as RuleFile, redis, identity: IDENTITY }
    const gate = new Gate({ ...options, onError: (error) => void errors.push(error) }, simpleReader)
    const isAdmitted = async (request: SimpleRequest): Promise<boolean> => (await gate.enter(request)).allowed
    await until('Redis counts', async () => !(await isAdmitted({ ip: '192.0.2.1', url: '/first', method: 'PUT' })))
    for (const text of INPUTS) {
      await isAdmitted(requestOf(text))
      expect([text.slice(0, 20), await isAdmitted(requestOf(text))]).toEqual([text.slice(0, 20), false])
    }
    await gate.close()
    expect(errors).toEqual([])
  })
})
