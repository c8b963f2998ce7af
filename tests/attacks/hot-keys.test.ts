import { expect, it } from 'vitest'
import { observerOf } from '../../server/src/observe/door-observer.ts'
import { DEFAULT_BOUNDS, HotKeys } from '../../server/src/observe/hot-keys/hot-keys.ts'
import { compileObjects } from '../../src/core/rules/compile.ts'
import { Limiter } from '../../src/engine/limiter.ts'
import { MemoryStore } from '../../src/stores/memory/memory-store.ts'

// Callers choose keys, as many and as long as they like. What is known of keys stays bounded, and true.

const RULES = compileObjects([
  {
    domain: 'd',
    descriptors: [
      { key: 'user', rate_limit: { unit: 'day', requests_per_unit: 1 } },
      {
        key: 'a',
        descriptors: [{ key: 'b', descriptors: [{ key: 'c', rate_limit: { unit: 'day', requests_per_unit: 9 } }] }],
      },
    ],
  },
])
const MAX_HELD = DEFAULT_BOUNDS.maxKeys + DEFAULT_BOUNDS.maxExhausted

/** A limiter whose keys are followed; each request is a millisecond. */
function watched() {
  let nowMs = 0
  const hotKeys = new HotKeys(0)
  const limiter = new Limiter(() => RULES, new MemoryStore({ maxKeys: 10_000 }), {
    observer: observerOf('http', [hotKeys]),
  })
  const ask = (...values: string[]): void => {
    const keys = values.length === 1 ? ['user'] : ['a', 'b', 'c']
    void limiter.check({ domain: 'd', descriptors: [{ entries: values.map((value, i) => ({ key: keys[i], value })) }] })
    if (++nowMs % 250 === 0) hotKeys.turn(nowMs)
  }
  return { hotKeys, ask }
}

it('a flood of distinct keys takes bounded memory, and does not hide the busiest', () => {
  const { hotKeys, ask } = watched()
  for (let i = 0; i < 300_000; i++) {
    ask(`flood-${i}`)
    // A hundredth of all, and refused but for the first.
    if (i % 100 === 0) ask('busy')
    if (i % 10_000 === 0) expect(hotKeys.held).toBeLessThanOrEqual(MAX_HELD)
  }
  const [{ windows }] = hotKeys.report().rules
  for (const minutes of [1, 5, 60] as const) {
    const { active, refused } = windows[minutes]
    expect(active.keys[0][0]).toBe('user=busy')
    expect(active.missed).toBeLessThanOrEqual(active.total / DEFAULT_BOUNDS.maxSize)
    expect(refused.keys[0][0]).toBe('user=busy')
  }
  expect(hotKeys.held).toBeLessThanOrEqual(MAX_HELD)
})

it('a flood of keys at 0 does not push out one that has been there for long', () => {
  const { hotKeys, ask } = watched()
  ask('first')
  for (let i = 0; i < 320_000; i++) {
    ask(`flood-${i}`)
    if (i % 50 === 0) ask('first')
  }
  expect(hotKeys.report().rules[0].exhausted).toBeGreaterThanOrEqual(1)
  expect(hotKeys.held).toBeLessThanOrEqual(MAX_HELD)
})

it('long keys are followed up to a bound, and so are reports', () => {
  const { hotKeys, ask } = watched()
  // The longest values that are spelled as they are, of characters that are escaped.
  const long = '|'.repeat(190)
  for (let i = 0; i < 20_000; i++) for (let twice = 0; twice < 2; twice++) ask(`${i}${long}`, long, long)
  const report = JSON.stringify(hotKeys.report())
  expect(report.length).toBeLessThan(6_000 * 1_024)
  for (const { windows } of hotKeys.report().rules) {
    for (const [key] of windows[60].active.keys) expect(key.length).toBeLessThanOrEqual(513)
  }
})
