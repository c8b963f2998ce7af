import { expect, it } from 'vitest'
import { Lane, Turns } from './turns.ts'

/** ByHand runs what is scheduled when it is told to. */
function byHand(perTurn: number) {
  const scheduled: (() => void)[] = []
  const turns = new Turns(perTurn, (run) => void scheduled.push(run))
  const done: string[] = []
  return {
    turns,
    done,
    add: (lane: Lane, name: string, units = 1) =>
      turns.add(lane, () => {
        done.push(name)
        return units
      }),
    /** Runs one turn of the event loop, and returns what was done in it. */
    turn: () => {
      const before = done.length
      for (const run of scheduled.splice(0)) run()
      return done.slice(before)
    },
  }
}

it('nothing runs in the turn in which it is added, and one turn does no more than its units', () => {
  const { add, turn, done, turns } = byHand(3)
  const lane = new Lane()
  for (const name of ['a', 'b', 'c', 'd']) add(lane, name)
  expect(done).toEqual([])
  expect(turn()).toEqual(['a', 'b', 'c'])
  expect(turn()).toEqual(['d'])
  expect(turn()).toEqual([])
  expect(turns.most).toBe(3)
})

it('lanes are served in rotation, from where the turn before ended', () => {
  const { add, turn } = byHand(3)
  const [crowd, one, other] = [new Lane(), new Lane(), new Lane()]
  for (const name of ['c1', 'c2', 'c3', 'c4', 'c5']) add(crowd, name)
  add(one, 'one')
  add(other, 'other')
  expect(turn()).toEqual(['c1', 'one', 'other'])
  add(one, 'one more')
  expect(turn()).toEqual(['c2', 'one more', 'c3'])
  expect(turn()).toEqual(['c4', 'c5'])
})

it('a task that is much work takes the place of others', () => {
  const { add, turn } = byHand(10)
  const lane = new Lane()
  add(lane, 'large', 10)
  add(lane, 'small')
  expect(turn()).toEqual(['large'])
  expect(turn()).toEqual(['small'])
})

it('tasks with nothing left to do cost little, and not nothing', () => {
  const { add, turn } = byHand(1)
  const lane = new Lane()
  for (let i = 0; i < 100; i++) add(lane, `${i}`, 0)
  expect(turn()).toHaveLength(32)
  expect([turn().length, turn().length, turn().length, turn().length]).toEqual([32, 32, 4, 0])
})

it('a task that adds another does not run it in the same turn of an empty lane twice', () => {
  const { turns, turn, done } = byHand(2)
  const lane = new Lane()
  const again = (): number => {
    done.push('again')
    turns.add(lane, again)
    return 1
  }
  turns.add(lane, again)
  expect(turn()).toEqual(['again', 'again'])
  expect(turn()).toEqual(['again', 'again'])
})

it('continues after a task that throws', () => {
  const { turns, add, turn } = byHand(2)
  const lane = new Lane()
  turns.add(lane, () => {
    throw new Error('broken')
  })
  add(lane, 'after')
  expect(turn).toThrow('broken')
  expect(turn()).toEqual(['after'])
})

it('keeps the order of a lane that is never empty', () => {
  const { add, turn } = byHand(1)
  const lane = new Lane()
  add(lane, '0')
  for (let i = 1; i < 1_000; i++) {
    add(lane, `${i}`)
    expect(turn()).toEqual([`${i - 1}`])
  }
})
