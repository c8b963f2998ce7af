import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { until } from '../../tests/servers/until.mjs'
import type { RuleFile } from '../core/rules/schema.ts'
import { fieldsOf, gateOf, type SimpleRequest, simpleReader } from './gate.suite.ts'
import { Gate, type GateOptions } from './gate.ts'

const FROM_A = { ip: '203.0.113.7' }
const FROM_B = { ip: '203.0.113.8' }

describe('a gate with one limit', () => {
  it('admits the limit for each address, and says so in fields', () => {
    const { gate, enter } = gateOf({ limit: 2, window: '1m', algorithm: 'fixed_window', anchor: 'first_hit' })
    expect(enter(FROM_A).allowed).toBe(true)
    const second = enter(FROM_A)
    expect(second.allowed).toBe(true)
    expect(fieldsOf(gate, second)).toMatchObject({
      'RateLimit-Policy': '"2-in-1m";q=2;w=60',
      RateLimit: '"2-in-1m";r=0;t=60',
      'X-RateLimit-Limit': '2',
      'X-RateLimit-Remaining': '0',
    })
    const third = enter(FROM_A)
    expect(third.allowed).toBe(false)
    expect(fieldsOf(gate, third)['Retry-After']).toBe('60')
    expect(enter(FROM_B).allowed).toBe(true)
  })

  it('answers a refused caller with the error as JSON', () => {
    const { gate, enter } = gateOf({ limit: 1, window: '1m', algorithm: 'fixed_window', anchor: 'first_hit' })
    const request = { ip: '203.0.113.7', method: 'POST', url: '/api/v1/orders?card=4111' }
    enter(request)
    const refused = enter(request)
    const { retryAfterSeconds } = gate.fields(refused)
    const { status, contentType, body } = gate.refusal(refused, request, retryAfterSeconds)
    expect([status, contentType]).toEqual([429, 'application/json'])
    expect(JSON.parse(body)).toEqual({
      error: {
        code: 'RATE_LIMITED',
        message: 'Rate limit exceeded for POST /api/v1/orders. Retry after 60 seconds.',
        retry_after: 60,
        limit: 1,
        window: '1m',
        scope: 'ip:203.0.113.7',
      },
    })
  })

  it('charges what a request costs', () => {
    const { enter } = gateOf({ limit: 10, window: '1m', cost: ({ url }) => (url === '/search' ? 8 : 1) })
    expect(enter({ ...FROM_A, url: '/search' }).allowed).toBe(true)
    expect(enter({ ...FROM_A, url: '/search' }).allowed).toBe(false)
    expect(enter({ ...FROM_A, url: '/' }).allowed).toBe(true)
  })

  it('counts nothing of what is skipped', () => {
    const { gate, enter } = gateOf({ limit: 1, window: '1m', skip: ({ url }) => url === '/health' })
    for (let i = 0; i < 3; i++) {
      const pass = enter({ ...FROM_A, url: '/health' })
      expect(pass.allowed).toBe(true)
      expect(fieldsOf(gate, pass)).toEqual({})
    }
    expect(enter(FROM_A).allowed).toBe(true)
  })

  it('gives those without an address one budget for all of them', () => {
    const { enter } = gateOf({ limit: 1, window: '1m' })
    expect(enter({ ip: undefined }).allowed).toBe(true)
    expect(enter({ ip: 'not an address' }).allowed).toBe(false)
  })

  it('distinguishes callers by what a function says, whatever that is, and repeats nothing long', async () => {
    const keys = ['__proto__', 'constructor', 'a|b=c', 'a|b', '{1}', '\r\nSet-Cookie: a', '', 'x'.repeat(1_000_000)]
    const { gate, enter } = gateOf({ limit: 1, window: '1m', by: ({ url }) => url })
    expect(keys.map((url) => enter({ url }).allowed)).toEqual(keys.map(() => true))
    for (const url of keys) {
      const refused = enter({ url })
      expect(refused.allowed).toBe(false)
      expect(gate.refusal(refused, FROM_A, 1).body.length).toBeLessThan(600)
      await gate.reset({ key: url })
      expect(enter({ url }).allowed).toBe(true)
    }
  })

  it('takes numbers for text, and the address where a function says nothing', () => {
    const said = new Map<string, unknown>([
      ['/7', 7],
      ['/null', null],
      ['/none', undefined],
      ['/big', 7n],
    ])
    const { errors, enter } = gateOf({ limit: 1, window: '1m', by: ({ url = '' }) => said.get(url) as string })
    const ask = (url: string): boolean => enter({ ...FROM_A, url }).allowed
    expect([ask('/7'), ask('/big'), ask('/null'), ask('/none')]).toEqual([true, false, true, false])
    expect(errors).toEqual([])
    const { enter: other, errors: received } = gateOf({
      limit: 1,
      window: '1m',
      identity: { user: () => ({}) as string },
    })
    expect([other().allowed, received]).toEqual([true, [expect.objectContaining({ code: 'KEY_INVALID' })]])
    expect(other().allowed).toBe(false)
  })

  it('forgets what a caller has used when it is reset', async () => {
    const { gate, enter } = gateOf({ limit: 1, window: '1m' })
    enter(FROM_A)
    expect(enter(FROM_A).allowed).toBe(false)
    await gate.reset({ ip: '203.0.113.7' })
    expect(enter(FROM_A).allowed).toBe(true)
  })
})

describe('dynamic limits', () => {
  const limits = { free: 1, pro: 3 }
  const identity = { tier: ({ headers }: SimpleRequest) => headers?.['x-plan'] }
  const count = (enter: (request: SimpleRequest) => { allowed: boolean }, request: SimpleRequest): number =>
    [1, 2, 3, 4, 5].filter(() => enter(request).allowed).length

  it('follow the tier, and give the least to callers without a known one', () => {
    const { enter } = gateOf({ limit: limits, window: '1m', identity })
    expect(count(enter, { ip: '192.0.2.1', headers: { 'x-plan': 'pro' } })).toBe(3)
    expect(count(enter, { ip: '192.0.2.2', headers: { 'x-plan': 'free' } })).toBe(1)
    expect(count(enter, { ip: '192.0.2.3' })).toBe(1)
    expect(count(enter, { ip: '192.0.2.4', headers: { 'x-plan': '__proto__' } })).toBe(1)
  })

  it('follow a function, and keep what was used when the amount changes', () => {
    let amount = 2
    const { enter } = gateOf({ limit: () => amount, window: '1m' })
    expect([enter().allowed, enter().allowed, enter().allowed]).toEqual([true, true, false])
    amount = 3
    expect([enter().allowed, enter().allowed]).toEqual([true, false])
  })

  it('may need a promise', async () => {
    const { gate } = gateOf({ limit: async () => 1, window: '1m' })
    expect((await gate.enter(FROM_A)).allowed).toBe(true)
    expect((await gate.enter(FROM_A)).allowed).toBe(false)
  })
})

describe('a gate with several limits', () => {
  const options: GateOptions<SimpleRequest> = {
    identity: { apiKey: true },
    limits: [
      { name: 'key', limit: 2, window: '1m', by: 'api_key' },
      { name: 'net', limit: 3, window: '1m', by: 'ip' },
    ],
  }
  const withKey = (key: string): SimpleRequest => ({ ip: '203.0.113.7', headers: { 'x-api-key': key } })

  it('admits what all of them admit, and charges all or none', () => {
    const { enter } = gateOf(options)
    expect([enter(withKey('one')).allowed, enter(withKey('one')).allowed]).toEqual([true, true])
    expect(enter(withKey('one')).allowed).toBe(false)
    // The refused one was not charged to the address.
    expect([enter(withKey('two')).allowed, enter(withKey('two')).allowed]).toEqual([true, false])
  })

  it('lists all policies, the tightest first, and never shows the key', () => {
    const { gate, enter } = gateOf(options)
    const request = withKey('sk_live_4242424242424242')
    enter(request)
    const pass = enter(request)
    expect(fieldsOf(gate, pass).RateLimit).toMatch(/^"key";r=0;t=\d+, "net";r=1;t=\d+$/)
    const refused = enter(request)
    const { body } = gate.refusal(refused, request, 1)
    expect(body).not.toContain('4242')
    expect(JSON.parse(body).error.scope).toMatch(/^api_key:sk_l~[0-9a-f]{16}$/)
  })
})

describe('refunds', () => {
  it.each([
    ['failure', 500, true],
    ['failure', 404, true],
    ['failure', undefined, false],
    ['failure', 200, false],
    ['success', 204, true],
    ['success', 500, false],
    ['success', undefined, false],
  ] as const)('on %s, after %s: %s', (refund, status, isRefunded) => {
    const { gate, enter } = gateOf({ limit: 2, window: '1m', refund })
    enter()
    const pass = enter()
    expect(pass.isOpen).toBe(true)
    // Of those that are told the end twice, only the first end counts.
    gate.end(pass, status)
    gate.end(pass, status)
    expect([enter().allowed, enter().allowed]).toEqual([isRefunded, false])
  })

  it('follow a function', () => {
    const { gate, enter } = gateOf({ limit: 1, window: '1m', refund: (status) => status === 304 })
    gate.end(enter(), 304)
    gate.end(enter(), 200)
    expect(enter().allowed).toBe(false)
  })

  it('are settled when the client leaves: a function is asked once, and `failure` is not what leaving is', () => {
    const asked: (number | undefined)[] = []
    const refund = (status: number | undefined): boolean => asked.push(status) > 0
    const { gate, enter } = gateOf({ limit: 1, window: '1m', refund })
    const pass = enter()
    gate.left(pass)
    gate.left(pass)
    gate.end(pass, 500)
    expect([asked, enter().allowed, enter().allowed]).toEqual([[undefined], true, false])
    const { gate: other, enter: enterOther } = gateOf({ limit: 1, window: '1m', refund: 'failure' })
    const left = enterOther()
    other.left(left)
    other.end(left, 500)
    expect(enterOther().allowed).toBe(false)
  })

  it('give nothing back for what was refused', () => {
    const { gate, enter } = gateOf({ limit: 1, window: '1m', refund: 'failure' })
    enter()
    const refused = enter()
    expect(refused.isOpen).toBe(false)
    gate.end(refused, 429)
    expect(enter().allowed).toBe(false)
  })
})

describe('concurrency', () => {
  it('holds a place until the request ended, however it ended, and once', () => {
    const { gate, enter } = gateOf({ limit: 2, algorithm: 'concurrency' })
    const [first, second] = [enter(), enter()]
    expect(enter().allowed).toBe(false)
    gate.end(first, 200)
    gate.end(first, 200)
    const third = enter()
    expect([third.allowed, enter().allowed]).toEqual([true, false])
    gate.end(second, undefined)
    expect(enter().allowed).toBe(true)
  })

  it('holds a place while the handler works for a client that left', () => {
    const { gate, enter } = gateOf({ limit: 1, algorithm: 'concurrency' })
    const pass = enter()
    gate.left(pass)
    expect(enter().allowed).toBe(false)
    gate.end(pass, undefined)
    expect(enter().allowed).toBe(true)
  })

  it('is released together with a window, which stays charged', () => {
    const { gate, enter } = gateOf({
      limits: [
        { limit: 1, algorithm: 'concurrency' },
        { limit: 2, window: '1m' },
      ],
    })
    gate.end(enter(), 200)
    gate.end(enter(), 200)
    expect(enter().allowed).toBe(false)
  })
})

describe('functions of the app that fail or return nonsense', () => {
  const broken = (): never => {
    throw new Error('broken')
  }
  const rejected = (): Promise<never> => Promise.reject(new Error('broken'))
  const said = (value: unknown) => (): never => value as never
  const open = async (options: GateOptions<SimpleRequest>): Promise<[allowed: boolean[], errors: number]> => {
    const { gate, errors } = gateOf({ limit: 2, window: '1m', ...options })
    const allowed: boolean[] = []
    for (let i = 0; i < 3; i++) allowed.push((await gate.enter(FROM_A)).allowed)
    return [allowed, errors.length]
  }

  it.each<[string, GateOptions<SimpleRequest>]>([
    ['skip that throws', { skip: broken }],
    ['skip that rejects', { skip: rejected }],
    ['skip that says something else than true', { skip: said('yes') }],
    ['by that throws', { by: broken }],
    ['by that rejects', { by: rejected }],
    ['by that says an object', { by: said({}) }],
    ['by that says NaN', { by: said(Number.NaN) }],
    ['identity.user that throws', { identity: { user: broken } }],
    ['identity.user that rejects', { identity: { user: rejected } }],
    ['identity.user that says an object', { identity: { user: said({}) } }],
    ['identity.tenant', { identity: { tenant: broken }, by: 'tenant' }],
    ['cost that throws', { cost: broken }],
    ['cost that rejects', { cost: rejected }],
    ['cost that says NaN', { cost: said(Number.NaN) }],
    ['cost below 0', { cost: said(-9) }],
    ['cost as text', { cost: said('0') }],
  ])('are reported, and the request is counted by address: %s', async (_, options) => {
    expect(await open(options)).toEqual([[true, true, false], 3])
  })

  it.each<[string, unknown]>([
    ['undefined', undefined],
    ['NaN', Number.NaN],
    ['below 0', -1],
    ['a text', '100'],
    ['Infinity', Number.POSITIVE_INFINITY],
    ['a fraction', 1.5],
    ['0 with a burst', 0],
  ])('leave callers the least amount that was ever said, and 1 in the beginning: %s', (_, nonsense) => {
    let amount: unknown = nonsense
    const limit = (): number => amount as number
    const { enter, errors } = gateOf({ limit, window: '1m', algorithm: 'token_bucket', burst: 1 })
    const count = (ip: string): number => [1, 2, 3, 4, 5].filter(() => enter({ ip }).allowed).length
    expect([count('192.0.2.1'), errors.length]).toEqual([1, 5])
    const { enter: other } = gateOf({ limit, window: '1m' })
    const countOther = (ip: string): number => [1, 2, 3, 4, 5].filter(() => other({ ip }).allowed).length
    for (amount of [4, 2, 3]) countOther('192.0.2.1')
    amount = typeof nonsense === 'number' && nonsense === 0 ? -1 : nonsense
    expect(countOther('192.0.2.2')).toBe(2)
  })

  it('use the least tier where the tier is unknown', () => {
    const { enter, errors } = gateOf({ limit: { free: 1, pro: 9 }, window: '1m', identity: { tier: broken } })
    expect([enter().allowed, enter().allowed, errors.length]).toEqual([true, false, 2])
  })

  it('take a cost that is too much for all that there is, and round fractions up', () => {
    const { enter, errors } = gateOf({ limit: 3, window: '1m', cost: ({ url }) => Number(url) })
    const ask = (cost: string): boolean => enter({ ...FROM_A, url: cost }).allowed
    expect([ask('1e300'), ask('Infinity'), ask('1.1'), ask('1.1'), ask('0.1'), ask('0'), ask('1')]).toEqual([
      false,
      false,
      true,
      false,
      true,
      false,
      false,
    ])
    expect(errors).toEqual([])
  })

  it('are not made worse by their listeners', () => {
    const { enter } = gateOf({ limit: 1, window: '1m', cost: broken, onError: broken })
    expect([enter().allowed, enter().allowed]).toEqual([true, false])
  })

  it('leave callers with an unknown address one budget', async () => {
    const errors: unknown[] = []
    const reader = { ...simpleReader, address: broken, route: broken }
    const rules = 'domain: d\ndescriptors:\n  - key: path\n    rate_limit: { unit: hour, requests_per_unit: 1 }\n'
    for (const options of [{ limit: 1, window: '1m' }, { rules }] as const) {
      const gate = new Gate({ ...options, onError: (error) => void errors.push(error) }, reader)
      expect([(await gate.enter(FROM_A)).allowed, (await gate.enter(FROM_B)).allowed]).toEqual([true, false])
    }
    expect(errors).toHaveLength(6)
  })
})

describe('descriptors of the app that fail or are nonsense', () => {
  const rule = { rate_limit: { unit: 'hour', requests_per_unit: 1 } } as const
  const rules = (key: string): RuleFile => ({ domain: 'd', descriptors: [{ key, ...rule }] })
  const broken = (): never => {
    throw new Error('broken')
  }

  it('leave the request to the usual ones', () => {
    for (const descriptors of [broken, () => 7 as never, () => [{}] as never, () => [{ entries: [{}] }] as never]) {
      const { enter, errors } = gateOf({ rules: rules('ip'), descriptors })
      expect([enter(FROM_A).allowed, enter(FROM_A).allowed, enter(FROM_B).allowed]).toEqual([true, false, true])
      expect(errors).toHaveLength(3)
    }
  })

  it('refuse it where no rule is about those: no one can say what it is to be counted by', () => {
    const { gate, enter, errors } = gateOf({ rules: rules('team'), descriptors: broken })
    const pass = enter(FROM_A)
    const { status, body } = gate.refusal(pass, FROM_A, 1)
    expect([pass.allowed, status, JSON.parse(body).error.code]).toEqual([false, 503, 'UNAVAILABLE'])
    expect(errors).toHaveLength(1)
  })

  it('count all together whose value is missing, and take numbers for text', () => {
    const value = ({ headers }: SimpleRequest): string => {
      const team = headers?.['x-team']
      return (team === undefined ? undefined : Number(team)) as unknown as string
    }
    const { enter, errors } = gateOf({
      rules: rules('team'),
      descriptors: (request) => [{ entries: [{ key: 'team', value: value(request) }] }],
    })
    const ask = (team?: string): boolean => enter({ ...FROM_A, ...(team && { headers: { 'x-team': team } }) }).allowed
    expect([ask(), ask(), ask('7'), ask('7'), ask('8')]).toEqual([true, false, true, false, true])
    expect(errors).toHaveLength(2)
  })

  it('cost 1 where they say that they cost something that is no cost', () => {
    const { enter } = gateOf({
      rules: rules('ip'),
      descriptors: (_, { ip = '' }) => [{ entries: [{ key: 'ip', value: ip }], cost: -5 }],
    })
    expect([enter().allowed, enter().allowed]).toEqual([true, false])
  })
})

describe('several API keys in one request', () => {
  const both = (first: string, second: string): SimpleRequest => ({
    ip: '203.0.113.7',
    headers: { 'x-api-key': first, authorization: `Bearer ${second}` },
  })
  const one = (key: string): SimpleRequest => ({ ip: '203.0.113.7', headers: { authorization: `Bearer ${key}` } })

  it('are all charged: no one knows here which of them the app goes by', () => {
    const { enter } = gateOf({ limit: 2, window: '1m', identity: { apiKey: true } })
    expect([1, 2, 3, 4].map((i) => enter(both(`made-up-${i}`, 'good')).allowed)).toEqual([true, true, false, false])
    expect([enter(one('good')).allowed, enter(one('other')).allowed]).toEqual([false, true])
  })

  it('are all charged by rules', () => {
    const rules: RuleFile = {
      domain: 'd',
      descriptors: [{ key: 'api_key', rate_limit: { unit: 'hour', requests_per_unit: 1 } }],
    }
    const { enter } = gateOf({ rules, identity: { apiKey: true } })
    expect([enter(both('a', 'good')).allowed, enter(both('b', 'good')).allowed]).toEqual([true, false])
  })

  it('count only if they are valid, where that can be checked', async () => {
    for (const isAsync of [false, true]) {
      const verify = (key: string): boolean => (isAsync ? Promise.resolve(key === 'good') : key === 'good') as boolean
      const { gate } = gateOf({ limit: 1, window: '1m', identity: { apiKey: { verify } } })
      const ask = async (request: SimpleRequest): Promise<boolean> => (await gate.enter(request)).allowed
      expect([await ask(both('a', 'good')), await ask(both('good', 'b')), await ask(one('good'))]).toEqual([
        true,
        false,
        false,
      ])
      // Without a good key, it is the address.
      expect([await ask(both('c', 'd')), await ask(one('e'))]).toEqual([true, false])
    }
  })

  describe('are warned about', () => {
    const net = { name: 'net', limit: 9, window: '1m', by: 'ip' } as const
    const own = { name: 'own', limit: 1, window: '1m' } as const
    const identity = { apiKey: true }
    const rule = { rate_limit: { unit: 'hour', requests_per_unit: 1 } } as const
    const rules = (...keys: string[]): RuleFile => ({ domain: 'd', descriptors: keys.map((key) => ({ key, ...rule })) })
    /** Asks two gates of each kind, in a process of their own as far as these know, and counts warnings. */
    const warned = async (...options: GateOptions<SimpleRequest>[]): Promise<number> => {
      vi.resetModules()
      const { Gate: FreshGate } = await import('./gate.ts')
      const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
      const gates = [...options, ...options].map((each) => new FreshGate(each, simpleReader))
      for (const gate of gates) await gate.enter(FROM_A)
      const texts = warn.mock.calls.filter(([text]) => String(text).startsWith('identity.apiKey believes every key'))
      warn.mockRestore()
      return texts.length
    }

    it('once where no one checks them, and no limit counts addresses', async () => {
      expect(await warned({ ...own, identity })).toBe(1)
      expect(await warned({ rules: rules('api_key'), identity })).toBe(1)
    })

    it('not where they are checked, do not count, or some limit counts addresses', async () => {
      expect(await warned({ ...own, identity: { apiKey: { verify: () => true } } })).toBe(0)
      expect(await warned({ ...own, by: 'user', identity: { ...identity, user: () => undefined } })).toBe(0)
      expect(await warned({ limits: [own, net], identity })).toBe(0)
      expect(await warned({ ...own, identity }, net)).toBe(0)
      expect(await warned({ rules: rules('api_key', 'ip'), identity })).toBe(0)
    })
  })
})

describe('a store that breaks its promise', () => {
  const broken = {
    nowMs: (): never => {
      throw new Error('broken')
    },
  }

  it('lets the request through, and reports that', () => {
    const { gate, errors, enter } = gateOf({ limit: 1, window: '1m', clock: broken })
    const pass = enter()
    expect([pass.allowed, fieldsOf(gate, pass), errors]).toEqual([true, {}, [new Error('broken')]])
  })

  it('has it refused with 503 where the limit says closed', () => {
    const { gate, enter } = gateOf({ limit: 1, window: '1m', onStoreFailure: 'closed', clock: broken })
    const pass = enter()
    expect(pass.allowed).toBe(false)
    const fields = gate.fields(pass)
    expect(fields.retryAfterSeconds).toBe(1)
    const { status, body } = gate.refusal(pass, FROM_A, 1)
    expect([status, JSON.parse(body).error.code]).toEqual([503, 'UNAVAILABLE'])
  })
})

describe('a gate with rules', () => {
  const YAML = `
domain: shop
descriptors:
  - key: ip
    rate_limit: { name: per-ip, unit: minute, requests_per_unit: 3 }
    descriptors:
      - key: path
        value: /login
        rate_limit: { name: login, unit: minute, requests_per_unit: 1 }
`
  const login = { ...FROM_A, url: '/login?next=%2F' }

  it('takes YAML text, and describes requests in the usual words', () => {
    const { gate, enter } = gateOf({ rules: YAML })
    expect(fieldsOf(gate, enter(login)).RateLimit).toMatch(/^"login";r=0;t=\d+, "per-ip";r=2;t=\d+$/)
    expect(enter(login).allowed).toBe(false)
    expect([enter(FROM_A).allowed, enter(FROM_A).allowed, enter(FROM_A).allowed]).toEqual([true, true, false])
  })

  it('takes objects, and descriptors of the app', () => {
    const rules: RuleFile = {
      domain: 'd',
      descriptors: [{ key: 'team', rate_limit: { unit: 'hour', requests_per_unit: 1 } }],
    }
    const { enter } = gateOf({
      rules,
      descriptors: ({ headers }) => [{ entries: [{ key: 'team', value: headers?.['x-team'] ?? 'none' }] }],
    })
    expect([enter({ headers: { 'x-team': 'a' } }).allowed, enter({ headers: { 'x-team': 'b' } }).allowed]).toEqual([
      true,
      true,
    ])
    expect(enter({ headers: { 'x-team': 'a' } }).allowed).toBe(false)
  })

  it('counts a request once for each rule where rules on the way down apply too', () => {
    const { gate, enter } = gateOf({ rules: YAML.replace('domain: shop', 'domain: shop\nevaluate: path') })
    expect(fieldsOf(gate, enter({ ...FROM_A, url: '/', method: 'GET' })).RateLimit).toMatch(/^"per-ip";r=2;t=\d+$/)
  })

  it('refunds and releases by rules', () => {
    const { gate, enter } = gateOf({ rules: YAML, refund: 'failure' })
    gate.end(enter(login), 401)
    expect(enter(login).allowed).toBe(true)
  })

  it('takes a file, and follows its changes', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'sluice-gate-'))
    const file = join(directory, 'rules.yaml')
    writeFileSync(file, YAML)
    const { gate, enter } = gateOf({ rules: file })
    try {
      expect(enter(FROM_A).allowed).toBe(true)
      writeFileSync(file, YAML.replace('requests_per_unit: 3', 'requests_per_unit: 1'))
      await until('the new rules are in force', () => !enter({ ip: '192.0.2.9' }).allowed)
    } finally {
      await gate.close()
      rmSync(directory, { recursive: true })
    }
  })

  it('keeps its domain when a directory gets another', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'sluice-gate-'))
    writeFileSync(join(directory, 'one.yaml'), YAML)
    const { gate, enter, errors } = gateOf({ rules: directory })
    try {
      const most = YAML.replace('requests_per_unit: 3', 'requests_per_unit: 0')
      writeFileSync(join(directory, 'two.yaml'), 'domain: two\n')
      writeFileSync(join(directory, 'one.yaml'), most)
      await until('the new rules are in force', () => !enter({ ip: '192.0.2.9' }).allowed)
      expect(errors).toEqual([])
    } finally {
      await gate.close()
      rmSync(directory, { recursive: true })
    }
  })

  it('refuses files and texts that are wrong when it is made', () => {
    expect(() => new Gate({ rules: 'domain: x\ndescriptors: 7\n' }, simpleReader)).toThrow(/RULE_INVALID/)
    expect(() => new Gate({ rules: '/no/such/file.yaml' }, simpleReader)).toThrow(/RULE_FILE_UNREADABLE/)
    expect(() => new Gate({ rules: [{ domain: 'a' }, { domain: 'b' }] }, simpleReader)).toThrow(
      /domain: the rules have 2/,
    )
  })
})

describe('options that are wrong', () => {
  it.each<[object, string]>([
    [{}, 'GATE_OPTIONS_INVALID: options: none of limit, limits and rules is given'],
    [{ limit: 1, window: '1m', limits: [] }, 'GATE_OPTIONS_INVALID: options: limit and limits cannot be combined'],
    [
      { limits: [{ limit: 1, window: '1m' }], window: '1m' },
      'GATE_OPTIONS_INVALID: window: it belongs to a limit; put it into limits',
    ],
    [{ rules: 'domain: x\n', by: 'ip' }, 'GATE_OPTIONS_INVALID: by: it belongs to a limit; put it into the rules'],
    [{ rules: 'domain: x\n', routing: { strickt: true } }, 'OPTION_UNKNOWN: routing.strickt: unknown option'],
    [{ rules: 'domain: x\n', routing: { strict: 'no' } }, 'GATE_OPTIONS_INVALID: routing.strict: got "no"'],
    [{ limit: 1, window: '1m', windwo: 1 }, 'OPTION_UNKNOWN: windwo: unknown option'],
    [{ limits: [{ limit: 1, window: '1m', skip: 1 }] }, 'OPTION_UNKNOWN: limits[0].skip: unknown option'],
    [{ limit: 1 }, 'WINDOW_REQUIRED: window: not given'],
    [
      {
        limits: [
          { limit: 1, window: '1m' },
          { limit: -1, window: '1m' },
        ],
      },
      'LIMIT_INVALID: limits[1].limit: got -1',
    ],
    [
      {
        limits: [
          { limit: 1, window: '1m' },
          { limit: 1, window: '60s' },
        ],
      },
      'GATE_OPTIONS_INVALID: limits[1].name: "1-in-1m" is already used',
    ],
    [{ limit: {}, window: '1m' }, 'LIMIT_INVALID: limit: got an object'],
    [
      { limit: 1, window: '1m', consistency: 'lazy' },
      'GATE_OPTIONS_INVALID: consistency: got "lazy", expected exact, leased, eventual or sampled',
    ],
    [
      { limit: 1, algorithm: 'concurrency', consistency: 'leased' },
      'GATE_OPTIONS_INVALID: consistency: got "leased" cannot be combined with concurrency, which is always exact',
    ],
    [
      { limit: 1, window: '1m', headers: { standard: 'draft-9' } },
      'GATE_OPTIONS_INVALID: headers.standard: got "draft-9"',
    ],
    [{ limit: 1, window: '1m', identity: { trustProxy: 1 } }, 'OPTION_UNKNOWN: identity.trustProxy: unknown option'],
    [{ limit: 1, window: '1m', identity: { apiKey: { name: 'k' } } }, 'OPTION_UNKNOWN: identity.apiKey.name: unknown'],
    [{ limit: 1, window: '1m', identity: { jwt: {} } }, 'JWT_OPTIONS_INVALID: jwt: got 0'],
    [{ limit: 1, window: '1m', identity: { ipv6Prefix: 0 } }, 'SUBNET_INVALID: identity.ipv6Prefix: got 0'],
    [{ limit: 1, window: '1m', identity: { trustedProxies: true } }, 'PROXY_TRUST_INVALID: trustedProxies: got true'],
  ])('%j', (options, message) => {
    expect(() => new Gate(options as GateOptions<SimpleRequest>, simpleReader)).toThrow(message)
  })
})
