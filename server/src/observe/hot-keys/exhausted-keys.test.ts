import { describe, expect, it } from 'vitest'
import { ExhaustedKeys } from './exhausted-keys.ts'
import { atOnce } from './steps.ts'

const MINUTE = 60_000

/** Tells of a key at 0, at these minutes. */
function asked(keys: ExhaustedKeys, key: string, ...minutes: number[]): ExhaustedKeys {
  for (const minute of minutes) {
    atOnce(keys.turn(minute * MINUTE, false))
    keys.atZero(key, minute * MINUTE, 10)
  }
  return keys
}

describe('ExhaustedKeys', () => {
  it('counts a key that has been at 0 for five minutes', () => {
    expect(asked(new ExhaustedKeys(), 'a', 0, 2, 4.99).count()).toBe(0)
    expect(asked(new ExhaustedKeys(), 'a', 0, 2, 4, 5).count()).toBe(1)
  })

  it('restarts when something was left in between', () => {
    const keys = asked(new ExhaustedKeys(), 'a', 0, 2, 4)
    keys.above('a')
    expect(asked(keys, 'a', 5, 7, 9).count()).toBe(0)
    expect(asked(keys, 'a', 10).count()).toBe(1)
  })

  it('forgets a key that no one asks about for five minutes', () => {
    const keys = asked(new ExhaustedKeys(), 'a', 0, 3, 6)
    atOnce(keys.turn(10.9 * MINUTE, false))
    expect(keys.count()).toBe(1)
    atOnce(keys.turn(11 * MINUTE, false))
    expect(keys.held).toBe(0)
  })

  it('follows no newcomer without room, and has room again when others are silent for a minute', () => {
    const keys = asked(new ExhaustedKeys(), 'a', 0)
    keys.atZero('b', 0, 0)
    expect(keys.held).toBe(1)
    atOnce(keys.turn(MINUTE, true))
    expect(keys.held).toBe(0)
  })
})
