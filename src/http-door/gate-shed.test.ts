import { describe, expect, it } from 'vitest'
import { until } from '../../tests/servers/until.mjs'
import { fieldsOf, gateOf, type SimpleRequest } from './gate.suite.ts'
import type { GateOptions } from './gate-options.ts'
import type { ShedOptions } from './shed-options.ts'

const LIMIT = { limit: 100, window: '1m' } as const
const ip = '203.0.113.7'
const shedding = (shed: ShedOptions<SimpleRequest> | boolean) => gateOf({ ...LIMIT, shed })

describe('a gate that sheds', () => {
  it('admits what the fleet can take, without what is kept for critical requests', () => {
    const { enter, gate } = shedding({ capacity: 10, reserved: 0.5 })
    const passes = Array.from({ length: 8 }, () => enter())
    expect(passes.map(({ allowed }) => allowed)).toEqual([...Array(5).fill(true), ...Array(3).fill(false)])
    expect(fieldsOf(gate, passes[7])).toEqual({ 'Retry-After': expect.stringMatching(/^[2-4]$/) })
    expect(passes[7]).toMatchObject({ scope: undefined, isOpen: false, caller: { ip } })
    expect(gate.refusal(passes[7], { ip }, 2).status).toBe(503)
  })

  it('charges no one for what it sheds', () => {
    const { enter, clock } = shedding({ capacity: 1, reserved: 0 })
    for (let i = 0; i < 50; i++) enter()
    clock.now += 3_000
    expect(enter().decision.tightest?.verdict.remaining).toBe(98)
  })

  it('reads the priority off what the app says, then off the rules, then off the method', () => {
    const rules = `domain: web
descriptors:
  - key: ip
    rate_limit: { unit: minute, requests_per_unit: 100, priority: 0 }`
    const full = { capacity: 1, reserved: 0 }
    const byRule = gateOf({ rules, shed: full })
    for (let i = 0; i < 5; i++) expect(byRule.enter().allowed).toBe(true)
    const said = gateOf({
      rules,
      shed: { ...full, priority: ({ headers }) => headers?.priority as 'test' | undefined },
    })
    const enter = (priority: string) => said.enter({ ip, headers: { priority } }).allowed
    expect([enter('test'), enter('test'), enter('critical'), said.enter().allowed]).toEqual([true, false, true, true])
  })

  it.each([
    [
      'throws',
      () => {
        throw new Error('lost')
      },
    ],
    ['says nonsense', () => 'highest' as never],
  ])("uses the method where the app's function %s, and reports that", (_, priority) => {
    const { enter, errors } = shedding({ capacity: 1, reserved: 0, priority })
    expect([enter().allowed, enter().allowed]).toEqual([true, false])
    expect(errors).toHaveLength(2)
  })

  describe('with a priority header', () => {
    const full = { capacity: 1, reserved: 0 } as const
    const header = (value: string, from?: string) => ({
      'x-priority': value,
      ...(from !== undefined && { 'x-forwarded-for': from }),
    })
    /** Says whether a request passes where nothing but critical ones does. */
    const isNeverShed = (options: Partial<GateOptions<SimpleRequest>>, request: SimpleRequest): boolean => {
      const { enter } = gateOf({ ...LIMIT, shed: full, ...options })
      enter()
      enter()
      return enter(request).allowed
    }
    const byNetwork = { priorityHeader: { name: 'X-Priority', from: ['10.0.0.0/8'] } } as const

    it('believes callers of the networks that it names, and no one else', () => {
      const said = (from: string, value: string) => isNeverShed(byNetwork, { ip: from, headers: header(value) })
      expect([said('10.1.2.3', 'critical'), said('10.1.2.3', ' Critical '), said('10.1.2.3', '0')]).toEqual([
        true,
        true,
        true,
      ])
      expect([said('203.0.113.9', 'critical'), said('10.1.2.3', 'critical, critical')]).toEqual([false, false])
      expect([said('10.1.2.3', 'highest'), said('10.1.2.3', 'write')]).toEqual([false, false])
      expect(isNeverShed(byNetwork, { headers: header('critical') })).toBe(false)
    })

    it('believes requests that begin in the networks of trusted proxies, not what these pass on', () => {
      const options = { priorityHeader: 'X-Priority', identity: { trustedProxies: ['10.0.0.0/8'] } }
      const said = (headers: Record<string, string>, ip = '10.0.0.1') => isNeverShed(options, { ip, headers })
      expect([said(header('critical')), said(header('critical', '10.9.9.9'))]).toEqual([true, true])
      expect([said(header('critical', '203.0.113.9')), said(header('critical', '10.9.9.9'), '203.0.113.9')]).toEqual([
        false,
        false,
      ])
    })

    it('believes what proxies pass on where it says so, by address or by number', () => {
      for (const trustedProxies of [['10.0.0.0/8'], 1]) {
        const options = {
          priorityHeader: { name: 'x-priority', from: 'proxies' },
          identity: { trustedProxies },
        } as const
        const request = { ip: '10.0.0.1', headers: header('critical', '203.0.113.9') }
        expect(isNeverShed(options, request)).toBe(true)
      }
    })

    it('comes before what the app says', () => {
      const byApp = (word: 'critical' | 'test') => ({
        ...byNetwork,
        shed: { ...full, priority: ({ headers }: SimpleRequest) => (headers === undefined ? undefined : word) },
      })
      const said = (value: string) => ({ ip: '10.1.2.3', headers: header(value) })
      expect(isNeverShed(byApp('test'), said('critical'))).toBe(true)
      expect(isNeverShed(byApp('critical'), said('test'))).toBe(false)
      expect(isNeverShed(byApp('critical'), said('nonsense'))).toBe(true)
    })

    it.each<[given: object, error: string]>([
      [{ priorityHeader: 'a b' }, 'priorityHeader'],
      [{ priorityHeader: '' }, 'priorityHeader'],
      [{ priorityHeader: { from: ['10.0.0.0/8'] } }, 'priorityHeader.name: the name is missing'],
      [{ priorityHeader: { nme: 'x' } }, 'did you mean "name"?'],
      [{ priorityHeder: 'x' }, 'did you mean "priorityHeader"?'],
      [{ priorityHeader: { name: 'x', from: 'proxis' } }, 'did you mean "proxies"?'],
      [{ priorityHeader: { name: 'x', from: [] } }, 'priorityHeader.from'],
      [{ priorityHeader: { name: 'x', from: ['everywhere'] } }, 'priorityHeader.from: got "everywhere"'],
      [{ priorityHeader: { name: 'x', from: 'proxies' } }, 'priorityHeader.from: requires identity.trustedProxies'],
      [{ priorityHeader: 'x' }, 'priorityHeader: requires from, or identity.trustedProxies by address'],
      [
        { priorityHeader: 'x', identity: { trustedProxies: 1 } },
        'priorityHeader: requires from, or identity.trustedProxies by address',
      ],
      [{ ...byNetwork, shed: false }, 'priorityHeader: requires shed'],
      [{ ...byNetwork, shed: undefined }, 'priorityHeader: requires shed'],
    ])('refuses %j', (given, error) => {
      expect(() => gateOf({ ...LIMIT, shed: full, ...given } as never)).toThrow(error)
    })
  })

  it('sees requests in flight until they ended, and sheds reads before writes', async () => {
    const { enter, gate } = shedding({ inFlight: 10, after: '1ms', over: '1ms' })
    const writes = Array.from({ length: 8 }, () => enter({ ip, method: 'POST' }))
    expect(writes.every(({ isOpen }) => isOpen)).toBe(true)
    await until('reads are shed', () => {
      const pass = enter()
      gate.end(pass, 200)
      return !pass.allowed
    })
    const write = enter({ ip, method: 'POST' })
    expect(write.allowed).toBe(true)
    for (const pass of [...writes, write]) gate.end(pass, 200)
    await until('reads are served again', () => {
      const pass = enter()
      gate.end(pass, 200)
      return pass.allowed
    })
    await gate.close()
  })

  it('sheds nothing in shadow mode, and nothing where it is false', () => {
    for (const shed of [{ capacity: 1, mode: 'shadow' }, { capacity: 1, mode: 'off' }, false] as const) {
      const { enter } = shedding(shed)
      expect(Array.from({ length: 5 }, () => enter().allowed)).toEqual(Array(5).fill(true))
    }
  })

  it.each([
    [{ capacity: 0 }, 'shed.capacity'],
    [{ capacity: 1.5 }, 'shed.capacity'],
    [{ reserved: 1 }, 'shed.reserved'],
    [{ priority: 'high' }, 'shed.priority'],
    [{ delay: 50 }, 'shed.delay'],
    [{ mode: 'dry' }, 'shed.mode'],
    [{ capcity: 1 }, 'capcity'],
  ])('refuses %j', (shed, where) => {
    expect(() => shedding(shed as never)).toThrow(where)
  })
})
