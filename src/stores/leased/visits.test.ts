import { describe, expect, it } from 'vitest'
import { Visits } from './visits.ts'

describe('visits', () => {
  it('are counted within a time of the first one, and restart after it', () => {
    const visits = new Visits(1024)
    expect([0, 10, 99].map((nowMs) => visits.add('k', nowMs, 100))).toEqual([1, 2, 3])
    expect([100, 101].map((nowMs) => visits.add('k', nowMs, 100))).toEqual([1, 2])
  })

  it('restart when the clock goes back, and when they are forgotten', () => {
    const visits = new Visits(1024)
    expect([50, 40].map((nowMs) => visits.add('k', nowMs, 100))).toEqual([1, 1])
    visits.forget('k')
    expect(visits.add('k', 41, 100)).toBe(1)
    visits.forget('other')
    expect(visits.add('k', 42, 100)).toBe(2)
  })

  it('are never reported as more than they were, in whatever room', () => {
    const visits = new Visits(4)
    for (let i = 0; i < 10_000; i++) expect(visits.add(`k${i}`, 0, 100)).toBe(1)
  })

  it('are counted of both of two keys that meet in one place', () => {
    const visits = new Visits(1)
    for (let i = 1; i <= 16; i++) expect([visits.add('a', i, 100), visits.add('b', i, 100)]).toEqual([i, i])
  })

  it('are forgotten for the key that came less often, or whose time is over, when a third comes', () => {
    const visits = new Visits(1)
    for (const key of ['a', 'b', 'a', 'b', 'a']) visits.add(key, 50, 100)
    expect(visits.add('c', 60, 100)).toBe(1)
    expect(visits.add('a', 60, 100)).toBe(4)
    // That of a began before c's.
    expect(visits.add('d', 155, 100)).toBe(1)
    expect(visits.add('c', 155, 100)).toBe(2)
    expect(visits.add('a', 155, 100)).toBe(1)
  })
})
