import { compileObjects } from 'sluice/internal/core/rules/compile'
import type { RateLimitRule } from 'sluice/internal/core/rules/schema'
import { Limiter } from 'sluice/internal/engine/limiter'
import { MemoryStore } from 'sluice/internal/stores/memory/memory-store'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { QuotaBook } from '../../quotas/book/quota-book.ts'
import { customer, meter } from '../ledger.suite.ts'
import { answerWithout } from '../ledger-batch.ts'
import { MemoryPort } from './memory-port.suite.ts'
import { RulePayer } from './rule-payer.ts'

const NOW_MS = Date.UTC(2026, 2, 10)
const perHour = (more: RateLimitRule): RateLimitRule => ({ unit: 'hour', requests_per_unit: 1_000, ...more })
const RULES = compileObjects([
  {
    domain: 'd',
    descriptors: [
      { key: 'api_key', rate_limit: perHour({ ledger: 'exports' }) },
      { key: 'customer', rate_limit: perHour({ ledger: 'exports' }) },
      {
        key: 'model',
        descriptors: [{ key: 'customer', rate_limit: perHour({ ledger: { meter: 'exports', amount: 'settled' } }) }],
      },
      {
        key: 'two',
        descriptors: [
          {
            key: 'customer',
            rate_limits: [
              perHour({ name: 'a', ledger: 'exports' }),
              perHour({ name: 'b', ledger: { meter: 'tokens', amount: 2 } }),
            ],
          },
        ],
      },
      { key: 'typo', descriptors: [{ key: 'customer', rate_limit: perHour({ ledger: 'exprots' }) }] },
    ],
  },
])

type Pairs = readonly (readonly [key: string, value: string])[]
const ask = (pairs: Pairs, cost = 1) => ({
  domain: 'd',
  descriptors: [{ entries: pairs.map(([key, value]) => ({ key, value })) }],
  cost,
})
const ACME: Pairs = [['customer', 'acme']]

function scene({ allowance = 100, refusalMs = 0, withinMs = 2_000, more = {} } = {}) {
  let nowMs = NOW_MS
  const port = new MemoryPort(
    [meter('exports', { allowance, ...more }), meter('tokens', { allowance: 3, refusalStatus: 429 })],
    [customer('acme')],
    () => nowMs,
  )
  const book = new QuotaBook({ hash: (key) => `#${key}`, clock: { nowMs: () => nowMs } })
  book.put('customers', 'acme', customer('acme'))
  const events: string[] = []
  const payer = new RulePayer(port, () => book, {
    events: {
      unavailable: (of, reason) => events.push(`unavailable ${of}: ${reason}`),
      lost: (of, reason) => events.push(`lost ${of}: ${reason}`),
    },
    nowMs: () => nowMs,
    withinMs,
    refusalMs,
  })
  const limiter = new Limiter(() => RULES, new MemoryStore({ clock: { nowMs: () => nowMs } }), {
    payer,
    quotas: () => book,
  })
  const key = (id: string, value: string, changes: object = {}) =>
    book.put('api_keys', id, {
      id,
      hash: `#${value}`,
      prefix: value,
      customerId: 'acme',
      tier: undefined,
      revokedAtMs: undefined,
      ...changes,
    } as never)
  const wait = (ms: number): void => {
    nowMs += ms
  }
  return { port, book, payer, limiter, events, key, wait }
}

const left = async (port: MemoryPort, of = 'exports') => (await port.look('acme', of)).available

afterEach(() => vi.useRealTimers())

describe('a request on a rule with a meter', () => {
  it('passes while the ledger keeps operations on the disk, and says so', async () => {
    const { limiter, port, events } = scene()
    port.ask = async () => answerWithout({ kind: 'buffered', isRepeated: false })
    const { allowed, ledger } = await limiter.check(ask(ACME, 3))
    expect([allowed, ledger]).toMatchObject([
      true,
      { field: '"exports";paid=3;buffered', json: [{ meter: 'exports', amount: 3, buffered: true }] },
    ])
    const two = await limiter.check(ask([['two', 'x'], ...ACME]))
    expect([two.allowed, two.ledger?.field, events]).toEqual([
      true,
      '"exports";paid=1;buffered, "tokens";paid=2;buffered',
      [],
    ])
  })

  it('is booked before it is answered, and says who paid', async () => {
    const { limiter, port } = scene()
    const { allowed, ledger } = await limiter.check(ask(ACME, 3))
    expect([allowed, ledger?.field]).toEqual([
      true,
      `"exports";paid=3;from="allowance";left=97;period-ends=${Date.UTC(2026, 3, 1) / 1000}`,
    ])
    expect(ledger?.json).toEqual([
      {
        meter: 'exports',
        amount: 3,
        paid_from: { allowance: 3, grants: 0, credits: 0, overdraft: 0, unpaid: 0 },
        available: { allowance: 97, grants: 0, credits: 0, overdraft: 0 },
        period: { start: '2026-03-01T00:00:00.000Z', end: '2026-04-01T00:00:00.000Z' },
      },
    ])
    expect(port.kinds()).toEqual(['event'])
  })

  it('goes down the waterfall: the allowance, then grants, then credits, then a refusal that says so', async () => {
    const { limiter, port } = scene({ allowance: 2 })
    await port.ask('acme', 'exports', { kind: 'issue', id: 'g', lotKind: 'grant', amount: 2 })
    await port.ask('acme', 'exports', { kind: 'issue', id: 'c', lotKind: 'credit', amount: 2 })
    const from = async (cost: number) => (await limiter.check(ask(ACME, cost))).ledger?.json[0].paid_from
    expect(await from(1)).toMatchObject({ allowance: 1 })
    expect(await from(2)).toMatchObject({ allowance: 1, grants: 1 })
    expect(await from(2)).toMatchObject({ grants: 1, credits: 1 })
    const { allowed, retryAfterMs, tightest } = await limiter.check(ask(ACME, 2))
    expect([allowed, retryAfterMs, tightest?.rule.response?.status]).toEqual([false, undefined, 402])
    expect(tightest?.verdict.ledger).toEqual({
      code: 'LEDGER_SHORT',
      reason:
        'meter exports needs 2, and 1 are left after the allowance of the period, then grants, then bought credits. ' +
        'What would help: the next allowance, at 2026-04-01T00:00:00.000Z, or more credits',
      field: `"exports";short=2;left=1;ran-out="allowance grants credits";would-help="next_period credits";period-ends=${Date.UTC(2026, 3, 1) / 1000}`,
      json: [
        {
          meter: 'exports',
          needed: 2,
          available: { allowance: 0, grants: 0, credits: 1, overdraft: 0 },
          ran_out: ['allowance', 'grants', 'credits'],
          renews_at: '2026-04-01T00:00:00.000Z',
          would_help: ['next_period', 'credits'],
          period: { start: '2026-03-01T00:00:00.000Z', end: '2026-04-01T00:00:00.000Z' },
        },
      ],
    })
  })

  it('is refused with 429 and a time where the meter says so and time helps', async () => {
    const { limiter } = scene()
    const two: Pairs = [['two', 'x'], ...ACME]
    expect((await limiter.check(ask(two))).allowed).toBe(true)
    const refused = await limiter.check(ask(two))
    expect([refused.tightest?.rule.response?.status, refused.retryAfterMs]).toEqual([
      429,
      Date.UTC(2026, 3, 1) - NOW_MS,
    ])
  })

  it('is paid by all of its meters or by none', async () => {
    const { limiter, port } = scene()
    const two: Pairs = [['two', 'x'], ...ACME]
    const first = await limiter.check(ask(two))
    expect(first.ledger?.field.split(', ').map((member) => member.split(';')[0])).toEqual(['"exports"', '"tokens"'])
    expect((await limiter.check(ask(two))).allowed).toBe(false)
    await port.settled()
    expect([(await left(port)).allowance, (await left(port, 'tokens')).allowance]).toEqual([99, 1])
    expect((await port.look('acme', 'exports')).held).toBe(0)
  })

  it('leads to its customer by an API key', async () => {
    const { limiter, key, port } = scene()
    key('k1', 'secret')
    expect((await limiter.check(ask([['api_key', 'secret']]))).allowed).toBe(true)
    expect((await left(port)).allowance).toBe(99)
  })

  it.each([
    ['a key that no one has', [['api_key', 'other']]],
    ['a key that was revoked', [['api_key', 'gone']]],
    ['a key without a customer', [['api_key', 'alone']]],
    ['a customer that there is not', [['customer', 'nobody']]],
  ] satisfies [string, Pairs][])('that comes with %s is refused, and no account is asked', async (_, pairs) => {
    const { limiter, key, port } = scene()
    key('k2', 'gone', { revokedAtMs: NOW_MS - 1 })
    key('k3', 'alone', { customerId: undefined })
    const { allowed, tightest } = await limiter.check(ask(pairs))
    expect([allowed, tightest?.rule.response?.status, tightest?.verdict.ledger?.code]).toEqual([
      false,
      402,
      'LEDGER_CUSTOMER_UNKNOWN',
    ])
    expect(port.asked).toEqual([])
  })

  it('is refused where there is no such meter, which the log says', async () => {
    const { limiter, events } = scene()
    const { tightest, retryAfterMs } = await limiter.check(ask([['typo', 'x'], ...ACME]))
    expect([tightest?.rule.response?.status, tightest?.verdict.ledger?.code, retryAfterMs]).toEqual([
      503,
      'LEDGER_UNAVAILABLE',
      1_000,
    ])
    expect(events).toEqual(['unavailable exprots: there is no such meter'])
  })

  it('is refused where the service has no database', async () => {
    const events: string[] = []
    const payer = new RulePayer(undefined, undefined, {
      events: { unavailable: (_, why) => events.push(why), lost() {} },
    })
    const limiter = new Limiter(() => RULES, new MemoryStore(), { payer })
    const { tightest } = await limiter.check(ask(ACME))
    expect([tightest?.rule.response?.status, events]).toEqual([503, ['the service has no database (--database)']])
  })
})

describe('a customer with too little', () => {
  it('is refused from memory for a while, as long as it asks for as much', async () => {
    const { limiter, port, wait } = scene({ allowance: 3, refusalMs: 1_000 })
    for (let i = 0; i < 50; i++) expect((await limiter.check(ask(ACME, 4 + (i % 2)))).allowed).toBe(false)
    expect(port.asked).toHaveLength(1)
    expect((await limiter.check(ask(ACME, 3))).allowed).toBe(true)
    await port.ask('acme', 'exports', { kind: 'issue', id: 'c', lotKind: 'credit', amount: 10 })
    expect((await limiter.check(ask(ACME, 4))).allowed).toBe(false)
    wait(1_000)
    expect((await limiter.check(ask(ACME, 4))).allowed).toBe(true)
  })
})

describe('a request whose end is to come', () => {
  const MODEL: Pairs = [['model', 'x'], ...ACME]

  it('holds what it may cost, and books what it came to', async () => {
    const { limiter, port } = scene()
    const { holds, charged } = await limiter.reserve(ask(MODEL, 10))
    expect([(await left(port)).allowance, (await port.look('acme', 'exports')).held]).toEqual([90, 10])
    expect(await limiter.settleReserved(ask(MODEL, 10), charged, 'r1', 4, holds)).toBe(true)
    expect([(await left(port)).allowance, (await port.look('acme', 'exports')).held]).toEqual([96, 0])
  })

  it('is not settled twice to different costs', async () => {
    const { limiter, port, events } = scene()
    const { holds, charged } = await limiter.reserve(ask(MODEL, 10))
    await limiter.settleReserved(ask(MODEL, 10), charged, 'r1', 4, holds)
    expect(await limiter.settleReserved(ask(MODEL, 10), charged, 'r1', 9, holds)).toBe(false)
    expect([(await left(port)).allowance, events]).toEqual([96, ['lost exports: id_reused']])
  })
})

describe('a ledger that does not answer', () => {
  it('refuses with 503, and gives back what it did unnoticed', async () => {
    const { limiter, port, events } = scene()
    port.breakOnce()
    const { allowed, tightest } = await limiter.check(ask(ACME, 5))
    expect([allowed, tightest?.rule.response?.status, tightest?.verdict.ledger?.code]).toEqual([
      false,
      503,
      'LEDGER_UNAVAILABLE',
    ])
    await port.settled()
    expect([(await left(port)).allowance, events.length]).toEqual([100, 1])
    expect(port.kinds()).toEqual(['event', 'correct'])
  })

  it('is waited for no longer than a request may take, and undone when it answers', async () => {
    vi.useFakeTimers()
    const { limiter, port } = scene({ withinMs: 50 })
    const answer = port.holdUp()
    const asked = limiter.check(ask(ACME, 5))
    await vi.advanceTimersByTimeAsync(50)
    expect((await asked).tightest?.verdict.ledger?.code).toBe('LEDGER_UNAVAILABLE')
    answer()
    await port.settled()
    expect((await left(port)).allowance).toBe(100)
  })

  it('books late what was used meanwhile, in order, when it answers again', async () => {
    vi.useFakeTimers()
    const { payer, port, limiter } = scene()
    const { holds } = await limiter.reserve(ask([['model', 'x'], ...ACME], 10))
    port.isAway = true
    expect(await payer.commit(holds[0], 4)).toBe(false)
    expect(await payer.commit(holds[0], 6, 4)).toBe(false)
    expect(await payer.commit(holds[0], 1, 6)).toBe(false)
    await vi.advanceTimersByTimeAsync(3_000)
    port.isAway = false
    await vi.advanceTimersByTimeAsync(2_000)
    await port.settled()
    expect([(await left(port)).allowance, (await port.look('acme', 'exports')).held]).toEqual([99, 0])
  })

  it('books what it can when the process ends, and says what is lost', async () => {
    const { payer, port, limiter, events } = scene()
    const { holds } = await limiter.reserve(ask([['model', 'x'], ...ACME], 10))
    port.isAway = true
    await payer.commit(holds[0], 4)
    await payer.close()
    expect(events).toEqual(['lost exports: too much waits for a ledger that does not answer'])
    port.isAway = false
    const again = scene()
    const other = await again.limiter.reserve(ask([['model', 'x'], ...ACME], 10))
    again.port.isAway = true
    await again.payer.commit(other.holds[0], 4)
    again.port.isAway = false
    await again.payer.close()
    expect([(await left(again.port)).allowance, again.events]).toEqual([96, []])
  })
})
