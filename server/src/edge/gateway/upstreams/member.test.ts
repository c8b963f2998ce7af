import { describe, expect, it } from 'vitest'
import type { Pool } from '../sides.ts'
import { readEndpoint } from './endpoint.ts'
import { Member } from './member.ts'
import { RetryBudget } from './retry-budget.ts'
import { UpstreamGroup } from './upstream-group.ts'

const clock = { ms: 0 }
const NO_POOL = {} as Pool

/** An address that is out after three failures. */
function memberOf(ejectAfter = 3, port = 1): Member {
  clock.ms = 1_000
  return new Member(readEndpoint(`http://127.0.0.1:${port}`, 'address', undefined), NO_POOL, ejectAfter, () => clock.ms)
}

const fail = (member: Member, times: number): void => {
  for (let i = 0; i < times; i++) member.failed()
}
const isIn = (member: Member): boolean => member.isIn(clock.ms)

describe('an address', () => {
  it('is out after so many failures in a row, and in again five seconds later', () => {
    const member = memberOf()
    fail(member, 2)
    expect(isIn(member)).toBe(true)
    fail(member, 1)
    expect(isIn(member)).toBe(false)
    clock.ms += 4_999
    expect(isIn(member)).toBe(false)
    clock.ms += 1
    expect(isIn(member)).toBe(true)
  })

  it('begins to count its failures again with each success', () => {
    const member = memberOf()
    for (let i = 0; i < 5; i++) {
      fail(member, 2)
      member.succeeded()
    }
    expect(isIn(member)).toBe(true)
  })

  it('is out for twice as long each time, for five minutes at most, until it has worked again', () => {
    const member = memberOf(1)
    for (const ms of [5_000, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]) {
      fail(member, 1)
      clock.ms += ms - 1
      expect(isIn(member)).toBe(false)
      clock.ms += 1
      expect(isIn(member)).toBe(true)
    }
    member.succeeded()
    fail(member, 1)
    clock.ms += 5_000
    expect(isIn(member)).toBe(true)
  })

  it('is not out for longer because of answers that were on their way', () => {
    const member = memberOf(1)
    fail(member, 5)
    clock.ms += 5_000
    expect(isIn(member)).toBe(true)
  })

  it('is never out where no number of failures is set', () => {
    const member = memberOf(0)
    fail(member, 100)
    expect(isIn(member)).toBe(true)
  })
})

describe('the addresses of an upstream', () => {
  const groupOf = (...members: Member[]) => new UpstreamGroup({ addresses: [] }, members, () => () => {})
  const picked = (group: UpstreamGroup, failed?: Member) =>
    new Set(Array.from({ length: 100 }, () => group.pick(clock.ms, failed).endpoint.port))

  it('get requests while they are in, all of them where none is, and not the last failed one', () => {
    const [one, two, three] = [memberOf(1, 1), memberOf(1, 2), memberOf(1, 3)]
    const group = groupOf(one, two, three)
    fail(one, 1)
    expect(picked(group)).toEqual(new Set([2, 3]))
    expect(picked(group, two)).toEqual(new Set([3]))
    for (const each of [two, three]) fail(each, 1)
    expect(picked(group)).toEqual(new Set([1, 2, 3]))
    expect(picked(group, two)).toEqual(new Set([1, 3]))
    expect(picked(groupOf(one), one)).toEqual(new Set([1]))
  })

  it('get requests that have less to do', () => {
    const [one, two] = [memberOf(1, 1), memberOf(1, 2)]
    one.begin()
    expect(picked(groupOf(one, two))).toEqual(new Set([2]))
    one.end()
    two.begin()
    expect(picked(groupOf(one, two))).toEqual(new Set([1]))
  })
})

it('there are ten tries more than requests, and then one for ten of them', () => {
  const budget = new RetryBudget()
  const spent = (): number => {
    let count = 0
    while (budget.spend()) count++
    return count
  }
  expect(spent()).toBe(10)
  for (let i = 0; i < 29; i++) budget.earn()
  expect([spent(), budget.spent]).toEqual([2, 12])
  for (let i = 0; i < 10_000; i++) budget.earn()
  expect(spent()).toBe(10)
})
