import { describe, expect, it } from 'vitest'
import { Turns } from './turns.ts'

function madeTurns(maxSpare?: number) {
  let nowMs = 0
  const timers = new Set<{ readonly dueMs: number; readonly run: () => void }>()
  const after = (ms: number, run: () => void) => {
    const timer = { dueMs: nowMs + ms, run }
    timers.add(timer)
    return () => timers.delete(timer)
  }
  const turns = new Turns(after, () => nowMs, maxSpare)
  const advance = (ms: number): void => {
    nowMs += ms
    for (const timer of [...timers]) {
      if (timer.dueMs > nowMs || !timers.delete(timer)) continue
      timer.run()
    }
  }
  return { turns, timers, advance }
}

describe('Turns', () => {
  it('give one that is left to the next request, and keep nothing when all have come', () => {
    const { turns, timers, advance } = madeTurns()
    const [first, second] = [turns.add('q', 100), turns.add('q', 200)]
    expect([turns.take('q'), turns.take('other')]).toEqual([undefined, undefined])
    first.leave()
    first.leave()
    const third = turns.take('q')
    expect([second.waitMs, third?.waitMs, turns.take('q')]).toEqual([200, 200, undefined])
    const called: string[] = []
    second.onDue(() => called.push('second'))
    third?.onDue(() => called.push('third'))
    advance(100)
    expect(called).toEqual(['second'])
    advance(100)
    expect([called, turns.queues, timers.size]).toEqual([['second', 'third'], 0, 0])
  })

  it('have one timer for each queue, also when all have left, and no turn that has passed', () => {
    const { turns, timers, advance } = madeTurns()
    const tickets = [100, 300, 200].map((ms) => turns.add('q', ms))
    for (const ticket of tickets) ticket.leave()
    expect([turns.queues, timers.size]).toEqual([1, 1])
    advance(250)
    expect(turns.take('q')?.waitMs).toBe(50)
    expect(turns.take('q')).toBeUndefined()
    advance(50)
    expect([turns.queues, timers.size]).toEqual([0, 0])
  })

  it('hold no more that are spare than they may', () => {
    const { turns, timers } = madeTurns(2)
    for (const name of ['a', 'b', 'c']) turns.add(name, 100).leave()
    expect([turns.queues, timers.size]).toEqual([2, 2])
    expect([turns.take('a')?.waitMs, turns.take('c')]).toEqual([100, undefined])
    turns.add('d', 100).leave()
    expect(turns.queues).toBe(3)
  })

  it('call a request back whose turn came before it knew', () => {
    const { turns, advance } = madeTurns()
    const ticket = turns.add('q', 10)
    advance(10)
    let isCalled = false
    ticket.onDue(() => {
      isCalled = true
    })
    ticket.leave()
    expect([isCalled, turns.queues]).toEqual([true, 0])
  })
})
