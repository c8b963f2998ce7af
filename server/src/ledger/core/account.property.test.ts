import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AccountModel, type ModelTerms } from './account-model.suite.ts'
import type { Operation, Outcome } from './account-state.ts'
import { addTo, closingOf, ENTRY_KINDS, type Entry, NO_LOT, noTotals, UNPAID } from './entry.ts'
import { MemoryAccount } from './memory-account.suite.ts'
import { HOUR_MS, play, START_MS, someTerms, steps, termsOfModel } from './steps.suite.ts'

const partsOf = (outcome: Outcome) => ('paidFrom' in outcome ? outcome.paidFrom : undefined)

describe('an account', () => {
  it('answers as the model of coins on a table does', () => {
    fc.assert(
      fc.property(someTerms, steps, (terms, all) => {
        const [account, model] = [new MemoryAccount(), new AccountModel()]
        account.run([{ kind: 'look' }], termsOfModel(terms), START_MS)
        model.step({ kind: 'look' }, terms, START_MS)
        play(all, (operation, nowMs) => {
          const { outcomes, balance } = account.run([operation], termsOfModel(terms), nowMs)
          const isRepeated = 'isRepeated' in outcomes[0] && outcomes[0].isRepeated
          const expected = model.step(operation, terms, nowMs)
          if (!isRepeated) {
            const { kind } = outcomes[0]
            expect({ kind, parts: partsOf(outcomes[0]) }, JSON.stringify(operation)).toEqual({
              parts: undefined,
              ...expected,
            })
          }
          expect(balance, JSON.stringify(operation)).toMatchObject({
            available: model.available(terms),
            held: model.held,
            debt: model.debt.length,
          })
        })
      }),
      { numRuns: 250 },
    )
  })

  it('sums to zero, never goes below its bound, and its balance is the fold of its entries', () => {
    fc.assert(
      fc.property(someTerms, steps, (terms, all) => {
        const account = new MemoryAccount()
        play(all, (operation, nowMs) => {
          account.run([operation], termsOfModel(terms), nowMs)
          checkBooks(account, terms)
        })
      }),
      { numRuns: 120 },
    )
  })

  it('answers the same however its operations are cut into batches', () => {
    fc.assert(
      fc.property(someTerms, steps, (terms, all) => {
        const asked: Operation[] = []
        play(all, (operation) => asked.push(operation.kind === 'event' ? { ...operation, atMs: undefined } : operation))
        const [one, many] = [new MemoryAccount(), new MemoryAccount()]
        const together = one.run(asked, termsOfModel(terms), START_MS).outcomes
        const apart = asked.flatMap((each) => many.run([each], termsOfModel(terms), START_MS).outcomes)
        expect(apart).toEqual(together)
        expect(many.entries).toEqual(one.entries)
      }),
      { numRuns: 100 },
    )
  })

  it('is the same whether or not anyone looked at it in between', () => {
    fc.assert(
      fc.property(someTerms, steps, fc.integer({ min: 1, max: 7 }), (terms, all, every) => {
        const [plain, watched] = [new MemoryAccount(), new MemoryAccount()]
        let lookedAtMs = START_MS
        plain.run([{ kind: 'look' }], termsOfModel(terms), START_MS)
        play(all, (operation, nowMs) => {
          for (let atMs = lookedAtMs; atMs < nowMs; atMs += every * 5 * HOUR_MS) {
            watched.run([{ kind: 'look' }], termsOfModel(terms), atMs)
          }
          lookedAtMs = nowMs
          const answer = plain.run([operation], termsOfModel(terms), nowMs)
          expect(watched.run([operation], termsOfModel(terms), nowMs)).toEqual(answer)
        })
      }),
      { numRuns: 150 },
    )
  })
})

/** Checks everything that has to hold at all times, from the entries alone. */
function checkBooks(account: MemoryAccount, { overdraft }: ModelTerms): void {
  const { state, entries, holds } = account
  const sums = new Map<string, number>()
  const add = (name: string, by: number): void => void sums.set(name, (sums.get(name) ?? 0) + by)
  for (const { kind, lot, amount } of entries) {
    const name = lot === NO_LOT ? 'debt' : lot === UNPAID ? 'unpaid' : `lot ${lot}`
    const accounts = ENTRY_KINDS[kind]
    if (accounts === undefined) continue
    add(accounts.from === 'lot' ? name : accounts.from, -amount)
    add(accounts.to === 'lot' ? name : accounts.to, amount)
  }
  expect([...sums.values()].reduce((a, b) => a + b, 0)).toBe(0)
  expect(0 - (sums.get('debt') ?? 0)).toBe(state.debt)
  expect(entries.map(({ number }) => number)).toEqual(entries.map((_, i) => i + 1))
  for (const lot of state.lots) {
    expect(sums.get(`lot ${lot.number}`), `lot ${lot.number}`).toBe(lot.remaining)
    const held = [...holds.values()].flatMap(({ claims }) => claims).filter((claim) => claim.lot === lot.number)
    expect(lot.held).toBe(held.reduce((sum, { amount }) => sum + amount, 0))
    expect(lot.held).toBeGreaterThanOrEqual(0)
    expect(lot.remaining).toBeGreaterThanOrEqual(lot.held)
  }
  expect(state.lots.reduce((sum, { remaining }) => sum + remaining, 0)).toBe(state.balance)
  expect(state.debt + state.debtHeld).toBeLessThanOrEqual(overdraft)
  checkPeriods(account, entries)
}

function checkPeriods({ state, closed }: MemoryAccount, entries: readonly Entry[]): void {
  const all = [...closed, ...state.ended, { startMs: state.period!.startMs, totals: state.totals }]
  all.sort((a, b) => a.startMs - b.startMs)
  let opening = 0
  for (const { startMs, totals } of all) {
    const own = noTotals(opening)
    for (const { kind, lot, amount, periodMs } of entries) if (periodMs === startMs) addTo(own, kind, lot, amount)
    expect(totals).toEqual(own)
    opening = closingOf(totals)
  }
  expect(opening).toBe(state.balance - state.debt)
}
