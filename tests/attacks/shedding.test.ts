import { describe, expect, it } from 'vitest'
import { gateOf } from '../../src/http-door/gate.suite.ts'

const LIMIT = { limit: 100, window: '1m' } as const
const ip = '203.0.113.7'

describe('a stranger who meets a service that sheds', () => {
  it.each([
    { priority: 'critical' },
    { priority: '0' },
    { 'x-priority': 'critical', 'sluice-priority': '0', 'sluice-shed': 'off' },
    { 'x-http-method-override': 'CRITICAL' },
  ])('is not critical by sending %j', (headers) => {
    const { enter } = gateOf({ ...LIMIT, shed: { capacity: 1, reserved: 0 } })
    enter({ ip })
    expect(enter({ ip, headers: headers as Record<string, string> }).allowed).toBe(false)
  })

  it.each<[how: string, from: string, headers: Record<string, string>]>([
    ['by saying so', ip, {}],
    ['by naming a trusted client', ip, { 'x-forwarded-for': '10.0.0.9' }],
    ['through a proxy that passes it on', '10.0.0.1', { 'x-forwarded-for': ip }],
    ['by a client that it makes up, through a proxy', '10.0.0.1', { 'x-forwarded-for': `10.0.0.9, ${ip}` }],
  ])('is not critical where callers inside are believed, %s', (_, from, headers) => {
    const identity = { trustedProxies: ['10.0.0.0/8'] }
    const { enter } = gateOf({ ...LIMIT, shed: { capacity: 1, reserved: 0 }, priorityHeader: 'X-Priority', identity })
    enter({ ip })
    const said = { 'x-priority': 'critical' }
    expect(enter({ ip: from, headers: { ...said, ...headers } }).allowed).toBe(false)
    expect(enter({ ip: '10.0.0.1', headers: said }).allowed).toBe(true)
  })

  it.each(['', 'critical', 'PRI', 'GET ', '__proto__'])('is not critical by the method %j', (method) => {
    const { enter } = gateOf({ ...LIMIT, shed: { capacity: 1, reserved: 0 } })
    enter({ ip })
    expect(enter({ ip, method }).allowed).toBe(false)
  })

  it('takes no memory with made-up addresses while it is shed, and no budget of anybody', () => {
    const { enter, clock } = gateOf({ ...LIMIT, maxKeys: 100, shed: { capacity: 1, reserved: 0 } })
    enter({ ip })
    for (let i = 0; i < 10_000; i++) enter({ ip: `198.51.${i >> 8}.${i & 255}` })
    clock.now += 3_000
    expect(enter({ ip }).decision.tightest?.verdict.remaining).toBe(98)
  })

  it('cannot use up the fleet for others: what is refused for a limit takes nothing of it', () => {
    const { enter } = gateOf({ limit: 1, window: '1m', shed: { capacity: 3, reserved: 0 } })
    for (let i = 0; i < 1_000; i++) enter({ ip })
    expect(enter({ ip: '198.51.100.1' }).allowed).toBe(true)
    expect(enter({ ip: '198.51.100.2' }).allowed).toBe(true)
    expect(enter({ ip: '198.51.100.3' }).decision.tightest?.verdict.shed).toBe('fleet')
  })
})
