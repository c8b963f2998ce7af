import { describe, expect, it } from 'vitest'
import { WaitingRoom } from './waiting-room.ts'

const SHORT = { ms: 1, tickets: [] }
const BOUNDS = { requests: 3, perCaller: 2, longestMs: 100 }

function madeRoom() {
  const timers = new Set<() => void>()
  const room = new WaitingRoom((_, run) => {
    timers.add(run)
    return () => timers.delete(run)
  })
  const ring = (): void => {
    for (const run of [...timers]) run()
  }
  return { room, timers, ring }
}

describe('WaitingRoom', () => {
  it('is bounded for one caller, for all, and in time', () => {
    const { room } = madeRoom()
    expect(room.refusalOf('a', 101, BOUNDS)).toBe('too-long')
    void room.wait('a', SHORT, () => {})
    void room.wait('a', SHORT, () => {})
    expect(room.refusalOf('a', 1, BOUNDS)).toBe('caller-full')
    expect(room.refusalOf('b', 1, BOUNDS)).toBeUndefined()
    void room.wait('b', SHORT, () => {})
    expect(room.refusalOf('c', 1, BOUNDS)).toBe('full')
  })

  it('lets go when the time is over, and keeps nothing', async () => {
    const { room, ring, timers } = madeRoom()
    const waits = [room.wait('a', SHORT, () => {}), room.wait('b', SHORT, () => {})]
    ring()
    expect(await Promise.all(waits)).toEqual(['over', 'over'])
    expect([room.size, timers.size, room.refusalOf('a', 1, BOUNDS)]).toEqual([0, 0, undefined])
  })

  it('gives up when the client leaves', async () => {
    const { room, timers } = madeRoom()
    let leave = (): void => {}
    const wait = room.wait('a', SHORT, (run) => {
      leave = run
    })
    leave()
    leave()
    expect([await wait, room.size, timers.size]).toEqual(['left', 0, 0])
  })
})
