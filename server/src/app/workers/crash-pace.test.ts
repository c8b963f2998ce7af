import { describe, expect, it } from 'vitest'
import { CrashPace } from './crash-pace.ts'

describe('CrashPace', () => {
  it('immediately replaces a worker that had served for a while', () => {
    const pace = new CrashPace()
    expect([pace.ended(60_000), pace.ended(60_000), pace.ended(60_000)]).toEqual([0, 0, 0])
  })

  it('immediately replaces a worker that ended soon, but only the first time', () => {
    const pace = new CrashPace()
    expect([pace.ended(50), pace.ended(50), pace.ended(50)]).toEqual([0, 200, 400])
  })

  it('waits longer and longer, up to ten seconds', () => {
    const pace = new CrashPace()
    const delays = Array.from({ length: 12 }, () => pace.ended(undefined))
    expect(delays.slice(0, 4)).toEqual([100, 200, 400, 800])
    expect(delays.at(-1)).toBe(10_000)
  })

  it('forgets crashes when a worker has been all right', () => {
    const pace = new CrashPace()
    for (let i = 0; i < 5; i++) pace.ended(50)
    expect([pace.ended(10_000), pace.ended(50)]).toEqual([0, 0])
  })

  it('gives up after five that were never ready', () => {
    const pace = new CrashPace()
    for (let i = 0; i < 4; i++) pace.ended(undefined)
    expect(pace.isHopeless).toBe(false)
    pace.ended(undefined)
    expect(pace.isHopeless).toBe(true)
  })

  it('does not give up while one gets ready now and then', () => {
    const pace = new CrashPace()
    for (let i = 0; i < 20; i++) {
      pace.ended(undefined)
      if (i % 4 === 3) pace.ready()
      expect(pace.isHopeless).toBe(false)
    }
  })
})
