import { describe, expect, it } from 'vitest'
import { compileLimit } from '../core/limit.ts'
import { DEFAULTS } from '../core/rules/rule-defaults.ts'
import { chargeOf, type PlannedCharge } from '../engine/charge.ts'
import { FullDecider as Decider } from '../engine/full-decider.ts'
import { Purse } from '../engine/purse.suite.ts'
import { Renewals } from '../engine/renewals.ts'
import { MemoryStore } from '../stores/memory/memory-store.ts'
import { HeldCharges } from './held-charges.ts'

function chargeFor(name: string, descriptor: number, algorithm: 'fixed_window' | 'concurrency' = 'fixed_window') {
  const window = algorithm === 'concurrency' ? {} : { window: '1h' }
  const limit = compileLimit({ algorithm, limit: 10, ...window }, 'limit')
  const rule = Object.freeze({ ...DEFAULTS, id: name, name, limit, path: [] })
  return chargeOf(rule, name, 1, { domain: 'd', entries: [], descriptor })
}

const HITS = [chargeFor('a', 0), chargeFor('b', 1)]
const PLACES = [chargeFor('at-once', 0, 'concurrency')]

/** held is what one request took, and how much of each of its limits remains. */
function heldOf(charges: readonly PlannedCharge[]) {
  const decider = new Decider(new MemoryStore(), undefined, { renewals: new Renewals() })
  const held = new HeldCharges(decider, charges, decider.acquire(charges))
  const remaining = () => {
    const looks = charges.map((charge) => ({ ...charge, cost: 0 }))
    return decider.decide(looks).verdicts.map(({ verdict }) => verdict.remaining)
  }
  return { held, remaining }
}

const isFirst = ({ descriptor }: PlannedCharge): boolean => descriptor === 0

describe('what a request took', () => {
  it('is given back once', async () => {
    const { held, remaining } = heldOf(HITS)
    expect(remaining()).toEqual([9, 9])
    await held.refund()
    await held.refund()
    expect(remaining()).toEqual([10, 10])
  })

  it('is given back once, in parts and as a whole', async () => {
    const { held, remaining } = heldOf(HITS)
    await held.refund(isFirst)
    expect(remaining()).toEqual([10, 9])
    await held.refund(isFirst)
    await held.refund()
    expect(remaining()).toEqual([10, 10])
  })

  it('is settled no more when it was given back', async () => {
    const { held, remaining } = heldOf(HITS)
    await held.refund(isFirst)
    await held.settle(4)
    expect(remaining()).toEqual([10, 6])
    await held.refund()
    await held.settle(4)
    expect(remaining()).toEqual([10, 10])
  })

  it('is settled to what is known last, and given back as it was settled', async () => {
    const { held, remaining } = heldOf(HITS)
    await held.settle(5)
    await held.settle(3)
    expect(remaining()).toEqual([7, 7])
    await held.refund()
    expect(remaining()).toEqual([10, 10])
  })

  it('is settled in parts, each of which is given back as it was settled', async () => {
    const { held, remaining } = heldOf(HITS)
    await held.settle(5, isFirst)
    expect(remaining()).toEqual([5, 9])
    await held.settle(2, isFirst)
    expect(remaining()).toEqual([8, 9])
    await held.refund()
    expect(remaining()).toEqual([10, 10])
  })

  it('in places is released once', async () => {
    const { held, remaining } = heldOf(PLACES)
    expect([held.isHolding, remaining()]).toEqual([true, [9]])
    held.letGo()
    await held.release()
    await held.release()
    expect([held.isHolding, remaining()]).toEqual([false, [10]])
  })
})

describe('what the ledger keeps for a request', () => {
  function keeping(amount: 'cost' | 'settled' | number, charged = 4) {
    const charge = { ...HITS[0], rule: { ...HITS[0].rule, ledger: { meter: 'm', amount } }, cost: charged, weight: 1 }
    const purse = new Purse({ m: 100 })
    const decider = new Decider(new MemoryStore(), undefined, { renewals: new Renewals(), payer: purse })
    const held = new HeldCharges(decider, [charge], decider.acquire([charge], undefined, undefined, true))
    return { held, purse }
  }

  it('is booked at its end, once', () => {
    const { held, purse } = keeping('cost')
    expect([held.isOwing, purse.left.m, purse.booked.m]).toEqual([true, 96, undefined])
    held.end()
    held.end()
    expect([held.isOwing, purse.left.m, purse.booked.m]).toEqual([false, 96, 4])
  })

  it.each([
    ['more', 9],
    ['less', 1],
    ['nothing', 0],
  ])('is what it came to, where that is %s', async (_, cost) => {
    const { held, purse } = keeping('settled')
    await held.settle(cost)
    held.end()
    expect([purse.left.m, purse.booked.m]).toEqual([100 - cost, cost])
  })

  it('is what it came to, where that is known after its end', async () => {
    const { held, purse } = keeping('settled')
    held.end()
    await held.settle(9)
    expect([purse.left.m, purse.booked.m]).toEqual([91, 9])
    await held.settle(2)
    expect([purse.left.m, purse.booked.m]).toEqual([98, 2])
  })

  it.each(['cost', 7] as const)('is not changed by a settlement where it is known before (%s)', async (amount) => {
    const { held, purse } = keeping(amount)
    const kept = 100 - purse.left.m
    await held.settle(1)
    held.end()
    expect(purse.booked.m).toBe(kept)
  })

  it.each(['cost', 'settled', 7] as const)(
    'is given back with a refund (%s), before its end and after',
    async (amount) => {
      const before = keeping(amount)
      await before.held.refund()
      before.held.end()
      expect([before.purse.left.m, before.purse.booked.m]).toEqual([100, 0])
      const after = keeping(amount)
      after.held.end()
      await after.held.refund()
      expect([after.purse.left.m, after.purse.booked.m]).toEqual([100, 0])
    },
  )

  it('is given back where the request was not served', () => {
    const { held, purse } = keeping('cost')
    held.end(false)
    expect([purse.left.m, purse.booked.m]).toEqual([100, 0])
  })
})
