import { allowedVerdict, type Verdict } from 'sluice/internal/core/decision'
import { FailurePolicy } from 'sluice/internal/engine/failure-policy'
import type { LimiterParts } from 'sluice/internal/engine/limiter'
import type { Charge, Store } from 'sluice/internal/engine/ports'
import { MemoryStore } from 'sluice/internal/stores/memory/memory-store'
import { describe, expect, it } from 'vitest'
import { gateOn, timedStores } from './gate.suite.ts'

const MINUTE = 60_000
/** The start of an hour. */
const START_MS = 3_600_000 * 500_000

/** Two in two minutes; three refusals within ten minutes lead to a block of ten. */
const BOTS = `
upstreams: { app: http://localhost:3000 }
limits:
  - name: bots
    algorithm: fixed_window
    requests_per_unit: 2
    window: 2m
    by: ip
    escalate: { block_after: 3, block_for: 10m }
`

/** A gate, and what a client gets of it. */
function gateOf(store: Store, text = BOTS, parts: LimiterParts = {}) {
  const { admit, settle } = gateOn(store, text, parts)
  /** Returns the status, and Retry-After of a refusal in seconds. */
  const ask = async (ip?: string) => {
    const answer = await admit(ip)
    await settle()
    if (answer.kind === 'admitted') return 200
    const retryAfter = answer.headers[answer.headers.indexOf('Retry-After') + 1]
    return `${answer.status} after ${Number(retryAfter)}`
  }
  /** told is what an answer says of the budget. */
  const visible = async () => {
    const { headers = [] } = await admit()
    await settle()
    const field = (name: string) => headers[headers.indexOf(name) + 1]
    return `${field('RateLimit')} of ${field('X-RateLimit-Limit')}`
  }
  const askTimes = async (times: number) => {
    const found: (string | number)[] = []
    for (let i = 0; i < times; i++) found.push(await ask())
    return found
  }
  return { ask, askTimes, visible }
}

describe.each(timedStores)('a block %s', (_, open) => {
  it('runs from the refusal that leads to it', async () => {
    const { store, parts, setMs } = await open()
    const { ask, askTimes } = gateOf(store, BOTS, parts)
    expect(await askTimes(3)).toEqual([200, 200, '429 after 120'])
    setMs(MINUTE)
    expect(await ask()).toBe('429 after 60')
    setMs(1.5 * MINUTE)
    expect(await ask()).toBe('429 after 30')
    setMs(1.5 * MINUTE + 1_000)
    expect(await ask()).toBe('429 after 599')
    // From the first of the refusals on it would be over.
    setMs(10 * MINUTE)
    expect(await ask()).toBe('429 after 90')
    setMs(11.5 * MINUTE - 1)
    expect(await ask()).toBe('429 after 1')
    setMs(11.5 * MINUTE)
    expect(await ask()).toBe(200)
  })

  it('is not lengthened by tries, which count for nothing', async () => {
    const { store, parts, setMs } = await open()
    const { ask, askTimes } = gateOf(store, BOTS, parts)
    await askTimes(3)
    setMs(MINUTE)
    await askTimes(2)
    for (let minute = 2; minute <= 10; minute++) {
      setMs(minute * MINUTE)
      expect(await ask()).toBe(`429 after ${(11 - minute) * 60}`)
    }
    // Afterwards all is as new: the budget, and refusals too.
    setMs(11 * MINUTE)
    expect(await askTimes(6)).toEqual([200, 200, '429 after 60', '429 after 60', '429 after 60', '429 after 600'])
  })

  it('is not lengthened where the limit refuses, too', async () => {
    const { store, parts, setMs } = await open()
    const { ask, askTimes } = gateOf(store, BOTS, parts)
    expect(await askTimes(9)).toEqual([200, 200, ...Array(3).fill('429 after 120'), ...Array(4).fill('429 after 600')])
    setMs(10 * MINUTE)
    expect(await ask()).toBe(200)
  })

  it('follows refusals within block_for only, and is of one caller', async () => {
    const { store, parts, setMs } = await open()
    const { ask, askTimes } = gateOf(store, BOTS, parts)
    expect(await askTimes(4)).toEqual([200, 200, '429 after 120', '429 after 120'])
    setMs(10 * MINUTE)
    expect(await askTimes(4)).toEqual([200, 200, '429 after 120', '429 after 120'])
    expect(await ask('192.0.2.2')).toBe(200)
    expect(await askTimes(2)).toEqual(['429 after 120', '429 after 600'])
    expect(await ask('192.0.2.2')).toBe(200)
  })
})

/** Blocks of one minute, of ten, and of an hour: each follows the second refusal within a minute. */
const LONGER = `
upstreams: { app: http://localhost:3000 }
limits:
  - name: bots
    algorithm: fixed_window
    requests_per_unit: 1
    window: 30s
    by: ip
    escalate: { block_after: 2, block_for: [1m, 10m, 1h], forgive_after: 6h }
`

describe.each(timedStores)('blocks of a caller that offends again %s', (_, open) => {
  it('are longer each time, up to the last of the list, and short again when they are forgiven', async () => {
    const { store, parts, setMs } = await open()
    const { askTimes } = gateOf(store, LONGER, parts)
    let nowMs = 0
    const offend = async (blockMs: number) => {
      const found = await askTimes(4)
      const [, , , retryAfter] = found.map((each) => Number(String(each).split(' after ')[1]))
      expect([found.slice(0, 3), retryAfter]).toEqual([[200, '429 after 30', '429 after 30'], blockMs / 1_000])
      nowMs += blockMs
      setMs(nowMs)
    }
    const HOUR = 60 * MINUTE
    for (const blockMs of [MINUTE, 10 * MINUTE, HOUR, HOUR, HOUR]) await offend(blockMs)
    nowMs += 6 * HOUR
    setMs(nowMs)
    await offend(MINUTE)
    await offend(10 * MINUTE)
  })

  it('become longer once for many refusals at the same time', async () => {
    const { store, parts, setMs } = await open()
    const { ask, askTimes } = gateOf(store, LONGER, parts)
    await Promise.all(Array.from({ length: 12 }, () => ask()))
    expect(await ask()).toBe('429 after 60')
    setMs(MINUTE)
    expect(await askTimes(4)).toEqual([200, '429 after 30', '429 after 30', '429 after 600'])
  })
})

describe('a block that is known', () => {
  /** Blocks a caller on a store, which is then asked by \`wrong\`. */
  const blockedOn = async (wrong: (store: Store, charges: readonly Charge[]) => Promise<readonly Verdict[]>) => {
    const memory = new MemoryStore({ clock: { nowMs: () => START_MS } })
    let isWrong = false
    const shared = {
      decide: (charges: readonly Charge[]) =>
        isWrong ? wrong(memory, charges) : Promise.resolve(memory.decide(charges)),
    } as Store
    const store = new FailurePolicy(shared, new MemoryStore({ clock: { nowMs: () => START_MS } }))
    const { ask, askTimes } = gateOf(store)
    await askTimes(6)
    isWrong = true
    const recover = () => {
      isWrong = false
    }
    return { ask, recover, store }
  }

  it('holds while the store is unavailable, however often', async () => {
    const { ask, recover } = await blockedOn(() => Promise.reject(new Error('unavailable')))
    for (let i = 0; i < 5; i++) expect(await ask()).toMatch(/^429 after (600|59\d)$/)
    expect(await ask('192.0.2.9')).toBe(200)
    recover()
    expect(await ask()).toBe('429 after 600')
  })

  it('is learned from another process that refuses without asking for it', async () => {
    const guess = async (store: Store, charges: readonly Charge[]) => {
      const verdicts = await store.decide(charges)
      if (!charges.some(({ cost, limit }) => cost === 1 && limit.max === 2)) return verdicts
      return verdicts.map((verdict, i): Verdict => {
        return charges[i].cost === 0 ? { ...allowedVerdict(1, 0, 0), unasked: true } : verdict
      })
    }
    const { store } = await blockedOn(guess)
    const { ask } = gateOf(store)
    expect([await ask(), await ask()]).toEqual(['429 after 600', '429 after 600'])
  })

  it('ends when the store says so, as after a reset', async () => {
    let isAway = false
    const { ask } = await blockedOn(async (_, charges) => {
      if (isAway) throw new Error('unavailable')
      return new MemoryStore().decide(charges)
    })
    expect(await ask()).toBe(200)
    isAway = true
    expect(await ask()).toBe(200)
  })
})

describe('a caller', () => {
  it('is shown its limit, and a block only while it is blocked', async () => {
    const store = new MemoryStore({ clock: { nowMs: () => START_MS } })
    const { visible } = gateOf(store)
    const found: string[] = []
    for (let i = 0; i < 6; i++) found.push(await visible())
    expect(found).toEqual([
      '"bots";r=1;t=120 of 2',
      '"bots";r=0;t=120 of 2',
      ...Array(3).fill('"bots";r=0;t=120 of 2'),
      '"bots block";r=0;t=600, "bots";r=0;t=120 of 1',
    ])
  })
})

describe('refusals because the store is unavailable', () => {
  it('lead to no block', async () => {
    const memory = new MemoryStore({ clock: { nowMs: () => START_MS } })
    let isAway = true
    const fault = () => Promise.reject(new Error('away'))
    const shared = { decide: (charges: readonly Charge[]) => (isAway ? fault() : memory.decide(charges)) } as Store
    const store = new FailurePolicy(shared, new MemoryStore({ clock: { nowMs: () => START_MS } }))
    const { ask, askTimes } = gateOf(store, BOTS.replace('by: ip', 'on_store_failure: closed'))
    expect(new Set(await askTimes(9))).toEqual(new Set(['503 after 1']))
    isAway = false
    expect(await ask()).toBe(200)
  })
})
