import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { alertsOn } from '../../chaos/alerts.mjs'
import { FAULTS } from '../../chaos/faults.mjs'
import { contradiction } from '../../chaos/history.mjs'
import { tryFault } from '../../chaos/trial.mjs'

/** Builds decisions of one counter, from 1,000 down: each happens at a time between its begin and its end. */
const histories = fc
  .array(fc.record({ gap: fc.nat(3), before: fc.nat(20), after: fc.nat(20) }), { minLength: 2, maxLength: 50 })
  .map((steps) => {
    let atMs = 0
    return steps.map(({ gap, before, after }, i) => {
      atMs += gap
      return { startMs: atMs - before, endMs: atMs + after, remaining: 1_000 - i }
    })
  })

describe('a history of one counter', () => {
  it('has an order, whatever the order in which its calls ended', () => {
    fc.assert(
      fc.property(histories, (history) => {
        expect(contradiction(history.toSorted((a, b) => a.endMs - b.endMs))).toBeUndefined()
      }),
    )
  })

  it('has none when two calls were left with the same', () => {
    fc.assert(
      fc.property(histories, fc.nat(), fc.nat(), (history, i, j) => {
        const [one, other] = [i % history.length, j % history.length]
        fc.pre(one !== other)
        const copied = history.with(one, { ...history[one], remaining: history[other].remaining })
        expect(contradiction(copied)).toBeDefined()
      }),
    )
  })

  it('has none when a call that began after another had ended was left with more', () => {
    const calls = [
      { startMs: 0, endMs: 10, remaining: 7 },
      { startMs: 5, endMs: 30, remaining: 8 },
      { startMs: 11, endMs: 20, remaining: 9 },
    ]
    expect(contradiction(calls)).toEqual([calls[2], calls[0]])
    expect(contradiction(calls.with(2, { startMs: 10, endMs: 20, remaining: 9 }))).toBeUndefined()
  })
})

describe('the alerts on a metric', () => {
  it('are those that look at it, and those that look at what is recorded of it', () => {
    expect(alertsOn('ratelimit_circuit_state')).toEqual(['SluiceCircuitOpen'])
    expect(alertsOn('ratelimit_redis_errors_total')).toContain('SluiceRedisErrors')
    expect(alertsOn('down')).toContain('SluiceNodeDown')
    expect(alertsOn('no_such_metric')).toEqual([])
  })

  it('exist for every fault that shows', () => {
    for (const { name, shows } of FAULTS) if (shows) expect(alertsOn(shows), name).not.toEqual([])
  })
})

describe('npm run chaos', () => {
  const named = (name: string) => FAULTS.find((fault) => fault.name === name) as (typeof FAULTS)[number]

  it('finds everything as it should be after Redis was out of memory', async () => {
    const seen = await tryFault(named('out-of-memory'))
    expect(seen.failures).toEqual([])
    expect(seen.alone).toBeGreaterThan(0)
    expect(seen.changed).toContain('ratelimit_redis_errors_total')
  })

  it('finds a fault that does not show, and a counter that was turned back', async () => {
    const turnedBack = {
      ...named('scripts-flushed'),
      again: async ({ redis }: { redis: { call(...args: string[]): Promise<unknown> } }) => {
        await redis.call('FLUSHALL')
      },
      shows: 'ratelimit_database_up',
    }
    const { failures } = await tryFault(turnedBack)
    expect(failures.join()).toMatch(/admitted but are not|that were admitted are not charged/)
    expect(failures.join()).toContain('ratelimit_database_up did not change')
  })
})
