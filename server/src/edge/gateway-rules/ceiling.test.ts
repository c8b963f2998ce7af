import { parseRules } from 'sluice/internal/core/rules/parse'
import { MemoryStore } from 'sluice/internal/stores/memory/memory-store'
import { describe, expect, it } from 'vitest'
import { Ceiling, ceilingLimit } from './ceiling.ts'
import { compileRoutes } from './file/compile-routes.ts'

/** What a routes file says of its ceiling, in requests for each scope. */
function ceilingOf(ceiling: string, limits = '[10/1s]') {
  const text = `upstreams: { app: http://localhost:3000 }\nlimits: ${limits}\n${ceiling}`
  const { requests, per_ip } = compileRoutes(parseRules('gw.yaml', text), 'gw.yaml').table.routes[0].shared.ceiling
  return [requests, per_ip].map((limit) => limit && [limit.max, limit.windowMs])
}

describe('the ceiling of a routes file', () => {
  it.each([
    ['', [50_000, 1_000], [10_000, 1_000]],
    ['ceiling: off', undefined, undefined],
    ['ceiling: { per_ip: off }', [50_000, 1_000], undefined],
    ['ceiling: { requests: 7/1m }', [7, 60_000], [10_000, 1_000]],
  ])('%j', (text, requests, perIp) => {
    expect(ceilingOf(text)).toEqual([requests, perIp])
  })

  it('is not below what a limit allows, unless the file says so', () => {
    expect(ceilingOf('', '[{ requests_per_unit: 20000, unit: SECOND }, 6000000/1m]')).toEqual([
      [100_000, 1_000],
      [100_000, 1_000],
    ])
    expect(ceilingOf('ceiling: { requests: 5/1s, per_ip: 5/1s }', '[20000/1s]')).toEqual([
      [5, 1_000],
      [5, 1_000],
    ])
    expect(ceilingOf('', '[{ algorithm: concurrency, requests_per_unit: 9000 }]')).toEqual([
      [50_000, 1_000],
      [10_000, 1_000],
    ])
  })

  it.each(['ceiling: on', 'ceiling: 5', 'ceiling: { requests: many }', 'ceiling: { all: 5/1s }'])(
    'is not %j',
    (text) => {
      expect(() => ceilingOf(text)).toThrow()
    },
  )
})

describe('Ceiling', () => {
  it('takes nothing of all for what one address has too much', () => {
    const ceiling = new Ceiling(new MemoryStore({ clock: { nowMs: () => 0 } }))
    const rates = {
      requests: ceilingLimit({ count: 3, windowMs: 1_000 }),
      per_ip: ceilingLimit({ count: 2, windowMs: 1_000 }),
    }
    const scopes = ['a', 'a', 'a', 'a', 'b', 'b'].map((ip) => ceiling.hit(ip, rates)?.scope)
    expect(scopes).toEqual([undefined, undefined, 'per_ip', 'per_ip', undefined, 'requests'])
    expect(ceiling.refused).toEqual({ requests: 1, per_ip: 2 })
  })
})
