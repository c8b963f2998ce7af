import { loadRules } from 'sluice/internal/core/rules/load'
import { Limiter } from 'sluice/internal/engine/limiter'
import { MemoryStore } from 'sluice/internal/stores/memory/memory-store'
import { describe, expect, it } from 'vitest'
import { observerOf } from '../../observe/door-observer.ts'
import { QuotaBook } from '../book/quota-book.ts'
import { block, customer, grant, hash, key, ofCustomer } from '../book/records.suite.ts'
import { UsageCounter, type UsageCounterOptions } from './usage-counter.ts'

const RULES = `
domain: api
tiers: {pro: {rate_limit: {unit: hour, requests_per_unit: 99}}}
descriptors:
  - key: customer
    tiered: true
    rate_limit: {unit: hour, requests_per_unit: 3}
    descriptors:
      - {key: path, rate_limit: {unit: hour, requests_per_unit: 1}}
      - {key: report, rate_limit: {unit: hour, requests_per_unit: 1}, shadow_mode: true}
  - {key: api_key, tiered: true, rate_limit: {algorithm: fixed_window, calendar: {unit: month}, requests_per_unit: 10}}
  - {key: user, rate_limit: {unit: hour, requests_per_unit: 3}}
`
const START = Date.parse('2026-03-10T12:00:00Z')

function open(options: UsageCounterOptions = {}) {
  const clock = { ms: START, nowMs: () => clock.ms }
  const book = new QuotaBook({ hash, clock })
  book.put('customers', 'acme', customer('acme'))
  book.put('api_keys', 'k-1', key('k-1', 'acme'))
  book.put('api_keys', 'k-2', key('k-2', undefined))
  const counter = new UsageCounter(() => book, { nowMs: clock.nowMs, ...options })
  const rules = loadRules([{ file: 'api.yaml', text: RULES }])
  const limiter = new Limiter(() => rules, new MemoryStore({ clock }), {
    quotas: () => book,
    observer: observerOf('http', [counter]),
  })
  const ask = (entries: Record<string, string>, cost = 1) =>
    limiter.check({
      domain: 'api',
      descriptors: [{ entries: Object.entries(entries).map(([name, value]) => ({ key: name, value })) }],
      cost,
    })
  return { clock, book, counter, ask }
}

const ACME = { customerId: 'acme', keyId: undefined }

describe('a UsageCounter', () => {
  it('counts what was allowed, refused and cost, by customer and limit', async () => {
    const { counter, ask, clock } = open()
    await ask({ customer: 'acme' }, 2)
    await ask({ customer: 'acme' }, 2)
    await ask({ customer: 'acme' })
    clock.ms += 900
    expect(counter.take()).toEqual({
      atMs: START,
      untilMs: START + 900,
      deltas: [{ ...ACME, limit: 'api/customer', allowed: 2, refused: 1, cost: 3 }],
      crossings: [],
    })
    expect(counter.take().deltas).toEqual([])
  })

  it('starts from zero after each report', async () => {
    const { counter, ask } = open()
    await ask({ customer: 'acme' })
    counter.take()
    await ask({ customer: 'acme' })
    expect(counter.take().deltas).toEqual([{ ...ACME, limit: 'api/customer', allowed: 1, refused: 0, cost: 1 }])
  })

  it('distinguishes keys, and knows whose they are', async () => {
    const { counter, ask } = open()
    await ask({ api_key: 'k-1-secret' })
    await ask({ api_key: 'k-2-secret' })
    expect(counter.take().deltas).toEqual([
      { customerId: 'acme', keyId: 'k-1', limit: 'api/api_key', allowed: 1, refused: 0, cost: 1 },
      { customerId: '', keyId: 'k-2', limit: 'api/api_key', allowed: 1, refused: 0, cost: 1 },
    ])
  })

  it('counts neither strangers, nor looks', async () => {
    const { counter, ask } = open()
    await ask({ customer: 'stranger' })
    await ask({ api_key: 'made up' })
    await ask({ user: 'acme' })
    await ask({ customer: 'acme' }, 0)
    expect(counter.take().deltas).toEqual([])
  })

  it('takes from the cost what was given back', async () => {
    const { counter, ask } = open()
    await ask({ customer: 'acme' }, 3)
    await ask({ customer: 'acme' }, -2)
    expect(counter.take().deltas).toMatchObject([{ allowed: 1, refused: 0, cost: 1 }])
  })

  it('counts a request as allowed that only a limit in shadow mode would have refused', async () => {
    const { counter, ask } = open()
    for (let n = 0; n < 2; n++) await ask({ customer: 'acme', report: 'r' })
    expect(counter.take().deltas).toMatchObject([{ limit: 'api/customer/report', allowed: 2, refused: 0 }])
  })

  it('counts blocked callers as refused, with or without a record of the block', async () => {
    const { counter, ask, book } = open()
    book.put('blocks', 'b-1', block('b-1', ofCustomer('acme')))
    await ask({ customer: 'acme' })
    await ask({ api_key: 'k-1-secret' })
    book.put('blocks', 'b-1', undefined)
    book.put('customers', 'acme', customer('acme', { status: 'suspended' }))
    await ask({ customer: 'acme' })
    expect(counter.take().deltas).toEqual([
      { ...ACME, limit: 'api/blocked', allowed: 0, refused: 1, cost: 0 },
      { customerId: 'acme', keyId: 'k-1', limit: 'api/blocked', allowed: 0, refused: 1, cost: 0 },
      { ...ACME, limit: 'api/blocked', allowed: 0, refused: 1, cost: 0 },
    ])
  })

  it('counts under --shadow-mode as allowed what was let pass', async () => {
    const { counter, ask } = open({ isShadow: true })
    for (let n = 0; n < 5; n++) await ask({ customer: 'acme' })
    expect(counter.take().deltas).toMatchObject([{ allowed: 5, refused: 0 }])
  })

  it('counts what a grant paid for as such', async () => {
    const { counter, ask, book } = open()
    book.put('grants', 'g-1', grant('g-1', 'acme', 5))
    for (let n = 0; n < 4; n++) await ask({ customer: 'acme' })
    expect(counter.take().deltas).toMatchObject([
      { limit: 'api/customer', allowed: 3, refused: 0 },
      { limit: 'api/grant', allowed: 1, refused: 0, customerId: 'acme' },
    ])
  })

  it('loses nothing, and holds a bounded number of pairs, when there are more', async () => {
    let sum = 0
    let most = 0
    const { counter, ask, book } = open({
      maxPairs: 10,
      full: () => {
        const deltas = counter.take().deltas ?? []
        most = Math.max(most, deltas.length)
        for (const { allowed } of deltas) sum += allowed
      },
    })
    for (let n = 0; n < 95; n++) {
      book.put('customers', `c-${n}`, customer(`c-${n}`))
      await ask({ customer: `c-${n}` })
    }
    for (const { allowed } of counter.take().deltas ?? []) sum += allowed
    expect([sum, most]).toEqual([95, 10])
  })
})

describe('thresholds of a calendar quota', () => {
  const MARCH = { periodStartMs: Date.parse('2026-03-01T00:00:00Z'), periodEndMs: Date.parse('2026-04-01T00:00:00Z') }
  const crossingsOf = (counter: UsageCounter) =>
    counter.take().crossings.map(({ threshold, used }) => [threshold, used])

  it('are reported once a period, with who, how much, and when the period ends', async () => {
    const { counter, ask, clock } = open()
    await ask({ api_key: 'k-1-secret' }, 4)
    expect(crossingsOf(counter)).toEqual([])
    await ask({ api_key: 'k-1-secret' }, 1)
    const about = { customerId: 'acme', keyId: 'k-1', limit: 'api/api_key' }
    expect(counter.take().crossings).toEqual([{ ...about, threshold: 50, used: 5, quota: 10, ...MARCH }])
    await ask({ api_key: 'k-1-secret' }, 5)
    expect(crossingsOf(counter)).toEqual([
      [80, 10],
      [100, 10],
    ])
    await ask({ api_key: 'k-1-secret' })
    expect(crossingsOf(counter)).toEqual([])
    clock.ms = MARCH.periodEndMs + 1
    await ask({ api_key: 'k-1-secret' }, 6)
    expect(crossingsOf(counter)).toEqual([[50, 6]])
  })

  it('are reported for calendar windows only', async () => {
    const { counter, ask } = open()
    for (let n = 0; n < 4; n++) await ask({ customer: 'acme' })
    expect(counter.take().crossings).toEqual([])
  })
})
