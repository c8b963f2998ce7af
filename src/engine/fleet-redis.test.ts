import { randomUUID } from 'node:crypto'
import { afterEach, describe, expect, it } from 'vitest'
import { sharedRedis } from '../../tests/servers/shared.ts'
import { until } from '../../tests/servers/until.mjs'
import { compileObjects } from '../core/rules/compile.ts'
import type { Priority } from '../core/shedding/priority.ts'
import { openStore } from '../stores/open/open-store.ts'
import { Limiter } from './limiter.ts'
import { LoadShedder } from './load-shedder.ts'
import { ManualLoop } from './manual-loop.suite.ts'

const rules = compileObjects([
  { domain: 'd', descriptors: [{ key: 'user', rate_limit: { unit: 'day', requests_per_unit: 1_000_000 } }] },
])

const opened: { close(): Promise<void> }[] = []
afterEach(() => Promise.all(opened.splice(0).map((store) => store.close())))

function node(redis: string, keyPrefix: string, capacity: number) {
  // A machine that is busy must not make Redis look away.
  const open = openStore({ redis, keyPrefix, timeoutMs: 60_000, secret: 'of this test' })
  opened.push(open)
  const shedder = new LoadShedder({ keys: open.keys, fleet: { capacity, reserved: 0 }, sampler: new ManualLoop() })
  const limiter = new Limiter(() => rules, open.store, { ...open.parts, shedder })
  const ask = async (priority: Priority) => {
    const descriptors = [{ entries: [{ key: 'user', value: 'u' }] }]
    return (await limiter.check({ domain: 'd', descriptors, priority })).tightest?.verdict
  }
  return { open, ask }
}

describe('the usage of a fleet', () => {
  it('is counted across its nodes: one is shed for what the other serves', async () => {
    const { url } = await sharedRedis()
    const [prefix, capacity] = [`${randomUUID()}:`, 50]
    const [busy, quiet] = [node(url, prefix, capacity), node(url, prefix, capacity)]
    let asked = 0
    await until('the quiet node sheds', async () => {
      await Promise.all(Array.from({ length: 100 }, () => busy.ask(2)))
      asked++
      return (await quiet.ask(2))?.shed === 'fleet'
    })
    // By itself it never had as many: it was shed for the other.
    expect(asked).toBeLessThan(capacity)
    expect((await quiet.ask(0))?.allowed).toBe(true)
  })

  it('is that of the process while Redis is unavailable, and sheds no one for that', async () => {
    const { ask } = node('redis://127.0.0.1:1', '', 5)
    const first = await ask(2)
    expect([first?.allowed, first?.fallback]).toEqual([true, 'local'])
    await until('the process alone has no capacity left', async () => (await ask(2))?.shed === 'fleet')
    expect((await ask(0))?.allowed).toBe(true)
  })
})
