import type { Priority } from 'sluice/internal/core/shedding/priority'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../net/manual-clock.suite.ts'
import { TimerWheel } from '../../../net/timer-wheel.ts'
import type { CarrierListener, Pool } from '../sides.ts'
import type { UpstreamSlot } from '../upstream-slot.ts'
import { LimitedPool, type PlaceBounds } from './limited-pool.ts'

/** A request that writes down what becomes of it. */
class Asked {
  readonly priority: Priority
  place: UpstreamSlot | undefined
  state = 'waits'

  constructor(priority: Priority) {
    this.priority = priority
  }

  unreachable(reason: string): void {
    this.state = reason
  }
}

function setUp({ min = 1, max = 10, maxWaiting = 100 }: Partial<PlaceBounds> = {}) {
  const clock = new ManualClock()
  const shed: Priority[] = []
  let isOn = true
  const inner: Pool = {
    connections: 0,
    speaksHttp2: false,
    connect: (listener) => {
      ;(listener as unknown as Asked).state = 'sent'
      listener.place?.sent()
    },
    forget: () => {},
    retire: () => {},
    destroy: () => {},
  }
  const shedding = { isOn: () => isOn, shed: (priority: Priority) => void shed.push(priority) }
  const pool = new LimitedPool(inner, { min, max, maxWaiting }, { clock, wheel: new TimerWheel(clock), shedding })
  const listen = (asked: Asked): CarrierListener => asked as unknown as CarrierListener
  const ask = (priority: Priority): Asked => {
    const asked = new Asked(priority)
    pool.connect(listen(asked))
    return asked
  }
  const fill = (priority: Priority, count: number): Asked[] => Array.from({ length: count }, () => ask(priority))
  const states = (all: readonly Asked[]) => all.map(({ state }) => state)
  const turn = (to: boolean): void => {
    isOn = to
  }
  return { clock, pool, ask, fill, states, shed, inner, listen, turn }
}

describe('an address that takes ten requests at the same time', () => {
  it('keeps room for what matters more', () => {
    const { fill, clock, states, shed } = setUp({ max: 20 })
    const all = [fill(3, 13), fill(2, 2), fill(1, 3), fill(0, 5)].flat()
    clock.advance(150)
    const sent = (count: number): string[] => Array(count).fill('sent')
    expect(states(all)).toEqual([...sent(12), 'shed', ...sent(1), 'shed', ...sent(2), 'shed', ...sent(5)])
    expect(shed).toEqual([1, 2, 3])
  })

  it('has a burst wait for a moment, and serves it by its priority', () => {
    const { fill, ask, states, clock } = setUp()
    const first = fill(0, 10)
    const late = [ask(3), ask(1), ask(2), ask(0)]
    expect(states(late)).toEqual(['waits', 'waits', 'waits', 'waits'])
    clock.advance(50)
    for (const { place } of first.slice(0, 2)) place?.answered()
    expect(states(late)).toEqual(['waits', 'waits', 'waits', 'sent'])
    for (const { place } of first.slice(2)) place?.answered()
    expect(states(late)).toEqual(['sent', 'sent', 'sent', 'sent'])
  })

  it('refuses immediately where it has just refused, but for what is critical', () => {
    const { fill, ask, clock, pool, states } = setUp()
    fill(0, 10)
    const burst = ask(1)
    clock.advance(150)
    expect([burst.state, ask(1).state, pool.takes(1), pool.takes(0)]).toEqual(['shed', 'shed', false, true])
    const critical = ask(0)
    clock.advance(900)
    expect(critical.state).toBe('waits')
    clock.advance(150)
    expect(states([critical, ask(1)])).toEqual(['shed', 'shed'])
    // A second without a refusal ends it.
    clock.advance(1_010)
    expect(ask(1).state).toBe('waits')
  })

  it('has no more wait than it is configured for for', () => {
    const { fill, ask, states } = setUp({ maxWaiting: 2 })
    fill(0, 10)
    expect(states([ask(0), ask(0), ask(0)])).toEqual(['waits', 'waits', 'shed'])
    const other = setUp()
    other.fill(0, 10)
    expect(other.states(other.fill(1, 11))).toEqual([...Array(10).fill('waits'), 'shed'])
  })

  it('forgets who waits and leaves', () => {
    const { fill, ask, pool, listen } = setUp()
    const [first] = fill(0, 10)
    const [left, next] = [ask(0), ask(0)]
    pool.forget(listen(left))
    first?.place?.left()
    expect([left.state, next.state, pool.waiting]).toEqual(['waits', 'sent', 0])
  })

  it('gives a place back once, whatever is said of it', () => {
    const { fill, pool } = setUp()
    const [first] = fill(0, 2)
    first?.place?.answered()
    first?.place?.left()
    first?.place?.sent()
    expect(pool.adaptive.inFlight).toBe(1)
  })

  it('lets everything through where it is off, and counts on', () => {
    const { fill, pool, states, turn } = setUp()
    turn(false)
    expect(states(fill(3, 30))).toEqual(Array(30).fill('sent'))
    expect(pool.adaptive.inFlight).toBe(30)
    turn(true)
    expect(pool.takes(3)).toBe(true)
    expect(pool.hasRoom(0)).toBe(false)
  })

  it('gives the place of a body that is slow to come to others, and counts it again when it is sent', () => {
    const { clock, pool, inner, fill } = setUp()
    inner.connect = () => {}
    const slow = fill(0, 10)
    clock.advance(999)
    expect(pool.hasRoom(0)).toBe(false)
    clock.advance(1)
    expect([pool.hasRoom(3), pool.adaptive.inFlight]).toEqual([true, 0])
    for (const { place } of slow) place?.sent()
    expect(pool.adaptive.inFlight).toBe(10)
    for (const { place } of slow) place?.left()
    expect(pool.adaptive.inFlight).toBe(0)
  })

  it('learns from requests that were given up late, and not from ones that left early', () => {
    const { clock, pool, fill } = setUp({ max: 40 })
    const round = (ms: number, how: 'answered' | 'left'): void => {
      const all = fill(0, pool.adaptive.limit)
      clock.advance(ms)
      for (const { place } of all) place?.[how]()
    }
    for (let i = 0; i < 30; i++) round(100, 'answered')
    const before = pool.adaptive.limit
    for (let i = 0; i < 30; i++) round(10, 'left')
    expect(pool.adaptive.limit).toBe(before)
    for (let i = 0; i < 30; i++) round(1_000, 'left')
    expect(pool.adaptive.limit).toBeLessThan(before)
  })
})
