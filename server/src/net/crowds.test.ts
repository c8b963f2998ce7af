import { describe, expect, it } from 'vitest'
import { Crowds, type Member } from './crowds.ts'

class Guest implements Member {
  hasLeft = false
  readonly use: Member['use']

  constructor(use: Member['use']) {
    this.use = use
  }

  leave(): void {
    this.hasLeft = true
  }
}

/** Has an address send guests, in this order. */
function crowded(most: number, address: string, uses: readonly Member['use'][]) {
  const crowds = new Crowds(most)
  const guests = uses.map((use) => new Guest(use))
  for (const guest of guests) crowds.add(address, guest)
  return { crowds, gone: () => guests.map(({ hasLeft }) => hasLeft) }
}

describe('where all places are taken', () => {
  it('connections without a request leave first, the newest before the others', () => {
    const { crowds, gone } = crowded(4, '10.0.0.1', ['none', 'idle', 'none', 'busy'])
    expect(crowds.admits('10.0.0.2')).toBe(true)
    expect(gone()).toEqual([false, false, true, false])
  })

  it('waiting connections leave next for another address, the newest first: what has worked for long stays', () => {
    const { crowds, gone } = crowded(3, '10.0.0.1', ['idle', 'idle', 'busy'])
    expect(crowds.admits('10.0.0.1')).toBe(false)
    expect(gone()).toEqual([false, false, false])
    expect(crowds.admits('10.0.0.2')).toBe(true)
    expect(gone()).toEqual([false, true, false])
  })

  it('those with calls in flight leave for an address that has few, and not for their own', () => {
    const { crowds, gone } = crowded(3, '10.0.0.1', ['busy', 'busy', 'busy'])
    expect(crowds.admits('10.0.0.1')).toBe(false)
    expect(gone()).toEqual([false, false, false])
    expect(crowds.admits('10.0.0.2')).toBe(true)
    expect(gone()).toEqual([false, false, true])
  })

  it('connections with calls in flight stay where the newcomer has half as many already', () => {
    const { crowds, gone } = crowded(6, '10.0.0.1', ['busy', 'busy', 'busy', 'busy'])
    for (let i = 0; i < 2; i++) crowds.add('10.0.0.2', new Guest('busy'))
    expect(crowds.admits('10.0.0.2')).toBe(false)
    expect(gone()).toEqual([false, false, false, false])
  })

  it('they are of the address with the most', () => {
    const { crowds, gone } = crowded(5, '10.0.0.1', ['none', 'none'])
    const others = Array.from({ length: 3 }, () => new Guest('idle'))
    for (const other of others) crowds.add('10.0.0.2', other)
    expect(crowds.admits('10.0.0.3')).toBe(true)
    expect([...gone(), ...others.map(({ hasLeft }) => hasLeft)]).toEqual([false, false, false, false, true])
  })

  it('addresses of one network of IPv6 are one', () => {
    const crowds = new Crowds(3)
    const [first, second, other] = [new Guest('idle'), new Guest('idle'), new Guest('none')]
    crowds.add('10.0.0.1', other)
    crowds.add('2001:db8::1', first)
    crowds.add('2001:db8::2', second)
    expect(crowds.admits('10.0.0.2')).toBe(true)
    expect([first.hasLeft, second.hasLeft, other.hasLeft]).toEqual([false, true, false])
  })
})

it('Unix sockets do not have to leave, whatever else connects', () => {
  const { crowds, gone } = crowded(2, '', ['none', 'none'])
  expect([crowds.admits(''), crowds.admits('10.0.0.1')]).toEqual([false, false])
  expect(gone()).toEqual([false, false])
})

it('for Unix sockets others have to leave', () => {
  const { crowds, gone } = crowded(2, '10.0.0.1', ['idle', 'idle'])
  expect(crowds.admits('')).toBe(true)
  expect(gone()).toEqual([false, true])
})

it('no one leaves as long as there is room', () => {
  const { crowds, gone } = crowded(4, '10.0.0.1', ['none', 'none', 'none'])
  expect(crowds.admits('10.0.0.1')).toBe(true)
  expect(gone()).toEqual([false, false, false])
})

it('a member that leaves on its own makes room, and only once', () => {
  const crowds = new Crowds(2)
  const leave = crowds.add('10.0.0.1', new Guest('busy'))
  crowds.add('10.0.0.1', new Guest('busy'))
  expect(crowds.admits('10.0.0.1')).toBe(false)
  leave()
  leave()
  expect([crowds.size, crowds.admits('10.0.0.1')]).toEqual([1, true])
})

it('of many places several are freed at the same time, so that not every newcomer has to look at all', () => {
  const { crowds, gone } = crowded(
    1_280,
    '10.0.0.1',
    Array.from({ length: 1_280 }, () => 'none' as const),
  )
  expect(crowds.admits('10.0.0.2')).toBe(true)
  expect(gone().filter(Boolean)).toHaveLength(10)
  expect(crowds.size).toBe(1_270)
})

it('one address has no more than its share, where there is one, unless it is a proxy', () => {
  const crowds = new Crowds(100, 2)
  for (let i = 0; i < 2; i++) crowds.add('2001:db8::1', new Guest('idle'))
  expect([crowds.admits('2001:db8::2'), crowds.admits('2001:db8::2', true), crowds.admits('10.0.0.1')]).toEqual([
    false,
    true,
    true,
  ])
})
