import { describe, expect, it } from 'vitest'
import { Visits } from './visits.ts'

describe('visits', () => {
  it('are counted within a time of the first one, and begin anew after it', () => {
    const visits = new Visits(1024)
    expect([0, 10, 99].map((nowMs) => visits.add('k', nowMs, 100))).toEqual([1, 2, 3])
    expect([100, 101].map((nowMs) => visits.add('k', nowMs, 100))).toEqual([1, 2])
  })

  it('begin anew when the clock goes back, and when they are forgotten', () => {
    const visits = new Visits(1024)
    expect([50, 40].map((nowMs) => visits.add('k', nowMs, 100))).toEqual([1, 1])
    visits.forget('k')
    expect(visits.add('k', 41, 100)).toBe(1)
    visits.forget('other')
    expect(visits.add('k', 42, 100)).toBe(2)
  })

  it('are never told as more than they were, in whatever room', () => {
    const visits = new Visits(4)
    for (let i = 0; i < 10_000; i++) expect(visits.add(`k${i}`, 0, 100)).toBe(1)
  })
})
