import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ManualClock } from './manual-clock.suite.ts'
import { Timer, TimerWheel } from './timer-wheel.ts'

function scene() {
  const clock = new ManualClock()
  const wheel = new TimerWheel(clock)
  const ran: string[] = []
  const startMs = clock.nowMs()
  const timer = (name: string): Timer => new Timer(() => ran.push(`${name}@${clock.nowMs() - startMs}`))
  return { clock, wheel, ran, startMs, timer }
}

describe('TimerWheel', () => {
  it('runs a timer at its time, rounded up to 10 ms', () => {
    const { clock, wheel, ran, startMs, timer } = scene()
    wheel.set(timer('a'), startMs + 30)
    wheel.set(timer('b'), startMs + 31)
    clock.advance(29)
    expect(ran).toEqual([])
    clock.advance(100)
    expect(ran).toEqual(['a@30', 'b@40'])
  })

  it('runs timers of later rounds in their round', () => {
    const { clock, wheel, ran, startMs, timer } = scene()
    wheel.set(timer('far'), startMs + 5_120 * 3 + 50)
    wheel.set(timer('near'), startMs + 50)
    clock.advance(60_000)
    expect(ran).toEqual(['near@50', 'far@15410'])
  })

  it('never waits longer than a round, because the timers of Node.js end immediately after 24.8 days', () => {
    const { clock, wheel, ran, startMs, timer } = scene()
    const waits: number[] = []
    const after = clock.after.bind(clock)
    clock.after = (delayMs, run) => {
      waits.push(delayMs)
      return after(delayMs, run)
    }
    // The longest grpc-timeout there is.
    wheel.set(timer('99999999H'), startMs + 99_999_999 * 3_600_000)
    clock.advance(20_000)
    expect(Math.max(...waits)).toBeLessThanOrEqual(5_120)
    expect(ran).toEqual([])
  })

  it('runs what is overdue in the next tick', () => {
    const { clock, wheel, ran, startMs, timer } = scene()
    wheel.set(timer('late'), startMs - 1_000)
    clock.advance(10)
    expect(ran).toEqual(['late@10'])
  })

  it('does not run what was cleared, or set again to another time', () => {
    const { clock, wheel, ran, startMs, timer } = scene()
    const [a, b, c] = [timer('a'), timer('b'), timer('c')]
    for (const each of [a, c, b]) wheel.set(each, startMs + 50)
    wheel.clear(a)
    wheel.clear(a)
    wheel.set(b, startMs + 200)
    clock.advance(1_000)
    expect(ran).toEqual(['c@50', 'b@200'])
  })

  it('lets a timer clear and set others, and itself', () => {
    const { clock, wheel, startMs } = scene()
    const ran: number[] = []
    const victim = new Timer(() => ran.push(-1))
    const again: Timer = new Timer(() => {
      ran.push(clock.nowMs() - startMs)
      wheel.clear(victim)
      if (ran.length < 3) wheel.set(again, clock.nowMs() + 100)
    })
    // Of one slot, the one that was set last runs first.
    wheel.set(victim, startMs + 100)
    wheel.set(again, startMs + 100)
    clock.advance(1_000)
    expect(ran).toEqual([100, 200, 300])
  })

  it('lets a timer move others that are due with it', () => {
    const { clock, wheel, ran, startMs, timer } = scene()
    const moved = timer('moved')
    const mover = new Timer(() => wheel.set(moved, startMs + 300))
    wheel.set(moved, startMs + 100)
    wheel.set(mover, startMs + 100)
    clock.advance(1_000)
    expect(ran).toEqual(['moved@300'])
  })

  it('holds one timer of the clock while it has timers, and none while it is empty', () => {
    const { clock, wheel, startMs, timer } = scene()
    expect(clock.timers).toBe(0)
    for (let i = 0; i < 100; i++) wheel.set(timer(`${i}`), startMs + 1_000 - i)
    expect(clock.timers).toBe(1)
    clock.advance(2_000)
    expect(clock.timers).toBe(0)
  })

  it('runs every timer once, never early and at most 10 ms late, whatever is set', () => {
    const delays = fc.array(fc.integer({ min: 1, max: 20_000 }), { minLength: 1, maxLength: 50 })
    fc.assert(
      fc.property(delays, fc.array(fc.integer({ min: 1, max: 3_000 })), (dues, steps) => {
        const { clock, wheel, startMs } = scene()
        const late: number[] = []
        for (const due of dues) wheel.set(new Timer(() => late.push(clock.nowMs() - startMs - due)), startMs + due)
        for (const step of steps) clock.advance(step)
        clock.advance(30_000)
        expect(late).toHaveLength(dues.length)
        expect(Math.min(...late)).toBeGreaterThanOrEqual(0)
        expect(Math.max(...late)).toBeLessThan(10)
      }),
    )
  })
})
