import fc from 'fast-check'
import { compileObjects } from 'sluice/internal/core/rules/compile'
import { Limiter } from 'sluice/internal/engine/limiter'
import { HeldCharges } from 'sluice/internal/http-door/held-charges'
import { MemoryStore } from 'sluice/internal/stores/memory/memory-store'
import { expect, it } from 'vitest'
import { QuotaBook } from '../../quotas/book/quota-book.ts'
import { AccountModel, type ModelTerms } from '../core/account-model.suite.ts'
import { customer, meter } from '../ledger.suite.ts'
import { MemoryPort } from './memory-port.suite.ts'
import { RulePayer } from './rule-payer.ts'

const START_MS = Date.UTC(2026, 2, 10, 5)
const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const METERS = ['x', 'y'] as const

/** Three rules on one request, of which two have meters: what it weighs on x, always two of y. */
interface Given {
  readonly limits: readonly number[]
  readonly allowances: readonly number[]
  readonly grants: readonly number[]
  readonly credits: readonly number[]
  readonly overdraft: number
}

const amounts = (max: number) => fc.tuple(fc.nat({ max }), fc.nat({ max }))
const someGiven: fc.Arbitrary<Given> = fc.record({
  limits: fc.tuple(fc.integer({ min: 1, max: 14 }), fc.integer({ min: 1, max: 14 }), fc.integer({ min: 1, max: 14 })),
  allowances: amounts(10),
  grants: amounts(5),
  credits: amounts(5),
  overdraft: fc.constantFrom(0, 0, 3),
})

type Step =
  | { readonly kind: 'ask'; readonly cost: number; readonly isOpen: boolean; readonly afterMs: number }
  | {
      readonly kind: 'end'
      readonly which: number
      readonly how: 'served' | 'failed' | 'refunded'
      readonly afterMs: number
    }

const afterMs = fc.constantFrom(0, 0, 0, MINUTE_MS, 40 * MINUTE_MS, 3 * HOUR_MS, 20 * HOUR_MS)
const someSteps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    {
      arbitrary: fc.record({
        kind: fc.constant('ask' as const),
        cost: fc.integer({ min: 1, max: 6 }),
        isOpen: fc.boolean(),
        afterMs,
      }),
      weight: 3,
    },
    {
      arbitrary: fc.record({
        kind: fc.constant('end' as const),
        which: fc.nat({ max: 100 }),
        how: fc.constantFrom('served' as const, 'failed' as const, 'refunded' as const),
        afterMs,
      }),
      weight: 2,
    },
  ),
  { minLength: 1, maxLength: 40 },
)

const rulesOf = ({ limits }: Given) =>
  compileObjects([
    {
      domain: 'd',
      descriptors: [
        {
          key: 'customer',
          rate_limits: ['x', { meter: 'y', amount: 2 }, undefined].map((ledger, i) => ({
            name: `rule-${i}`,
            unit: 'hour' as const,
            algorithm: 'fixed_window' as const,
            requests_per_unit: limits[i],
            ...(ledger !== undefined && { ledger }),
          })),
        },
      ],
    },
  ])

const REQUEST = { domain: 'd', descriptors: [{ entries: [{ key: 'customer', value: 'acme' }] }] }

/** What decides, and what one would do with counters and coins on a table. */
class Scene {
  nowMs = START_MS
  readonly port: MemoryPort
  readonly limiter: Limiter<MemoryStore>
  readonly given: Given
  readonly terms: readonly ModelTerms[]
  readonly models = METERS.map(() => new AccountModel())
  readonly open: { readonly held: HeldCharges; readonly id: string; readonly cost: number }[] = []
  #used = [0, 0, 0]
  #hour = 0
  #count = 0

  constructor(given: Given) {
    this.given = given
    const { allowances, overdraft } = given
    const shared = { overdraft, holdSeconds: 2 * 3_600, period: 'day' as const }
    const meters = METERS.map((id, i) => meter(id, { ...shared, allowance: allowances[i] }))
    this.terms = METERS.map((_, i) => ({
      allowance: allowances[i],
      most: 0,
      periods: 1,
      graceMs: 0,
      overdraft,
      holdMs: 2 * HOUR_MS,
    }))
    this.port = new MemoryPort(meters, [customer('acme')], () => this.nowMs)
    const book = new QuotaBook({ hash: (key) => key, clock: { nowMs: () => this.nowMs } })
    book.put('customers', 'acme', customer('acme'))
    const events = { unavailable: (of: string, why: string) => expect.unreachable(`${of} ${why}`), lost: () => {} }
    const payer = new RulePayer(this.port, () => book, { events, nowMs: () => this.nowMs, refusalMs: 0 })
    const rules = rulesOf(given)
    const store = new MemoryStore({ clock: { nowMs: () => this.nowMs } })
    this.limiter = new Limiter(() => rules, store, { payer, quotas: () => book })
  }

  async issue(): Promise<void> {
    for (const [i, of] of METERS.entries()) {
      for (const [lotKind, amount] of [
        ['grant', this.given.grants[i]],
        ['credit', this.given.credits[i]],
      ] as const) {
        const operation = { kind: 'issue', id: `${lotKind}-${of}`, lotKind, amount } as const
        if (amount === 0) continue
        await this.port.ask('acme', of, operation)
        this.models[i].step(operation, this.terms[i], this.nowMs)
      }
    }
  }

  async ask(cost: number, isOpen: boolean): Promise<void> {
    const expected = this.#expected(cost, isOpen)
    const charges = this.limiter.plan({ ...REQUEST, cost })
    const held = await (isOpen ? this.limiter.hold(charges) : this.limiter.decider.acquire(charges))
    await this.port.settled()
    const { tightest, allowed, ledger } = held.decision
    const by = allowed
      ? 'no one'
      : tightest?.verdict.ledger === undefined
        ? 'limit'
        : `meter ${tightest.rule.ledger?.meter}`
    expect({ by, paidFrom: ledger?.json.map(({ paid_from }) => paid_from) }).toEqual(expected)
    if (allowed && isOpen) {
      this.open.push({ held: new HeldCharges(this.limiter.decider, charges, held), id: `m${this.#count}`, cost })
    }
  }

  async end(which: number, how: 'served' | 'failed' | 'refunded'): Promise<void> {
    const [request] = this.open.splice(which % Math.max(1, this.open.length), 1)
    if (request === undefined) return
    this.#turn()
    if (how === 'refunded') {
      await request.held.refund()
      this.#used = this.#used.map((used) => Math.max(0, used - request.cost))
    }
    request.held.end(how !== 'failed')
    await this.port.settled()
    const { id, cost } = request
    for (const [i, amount] of [cost, 2].entries()) {
      this.models[i].step(
        how === 'served' ? { kind: 'commit', id, used: amount } : { kind: 'release', id },
        this.terms[i],
        this.nowMs,
      )
    }
  }

  /** Limits and accounts have what the model has. */
  async compare(): Promise<void> {
    this.#turn()
    const { verdicts } = await this.limiter.check({ ...REQUEST, cost: 0 })
    expect(verdicts.map(({ verdict }) => verdict.remaining)).toEqual(
      this.given.limits.map((limit, i) => limit - this.#used[i]),
    )
    for (const [i, of] of METERS.entries()) {
      this.models[i].step({ kind: 'look' }, this.terms[i], this.nowMs)
      const { available, held, debt } = await this.port.look('acme', of)
      expect({ of, available, held, debt }).toEqual({
        of,
        available: this.models[i].available(this.terms[i]),
        held: this.models[i].held,
        debt: this.models[i].debt.length,
      })
    }
  }

  #expected(cost: number, isOpen: boolean) {
    this.#turn()
    const id = `m${++this.#count}`
    if (this.#used.some((used, i) => used + cost > this.given.limits[i])) return { by: 'limit', paidFrom: undefined }
    const paidFrom = []
    for (const [i, amount] of [cost, 2].entries()) {
      const { kind, parts } = this.models[i].step({ kind: 'reserve', id, amount }, this.terms[i], this.nowMs)
      if (kind === 'refused') {
        for (let j = 0; j < i; j++) this.models[j].step({ kind: 'release', id }, this.terms[j], this.nowMs)
        return { by: `meter ${METERS[i]}`, paidFrom: undefined }
      }
      paidFrom.push(parts)
    }
    this.#used = this.#used.map((used) => used + cost)
    if (!isOpen) {
      for (const [i, amount] of [cost, 2].entries()) {
        this.models[i].step({ kind: 'commit', id, used: amount }, this.terms[i], this.nowMs)
      }
    }
    return { by: 'no one', paidFrom }
  }

  #turn(): void {
    const hour = Math.floor(this.nowMs / HOUR_MS)
    if (hour !== this.#hour) this.#used = [0, 0, 0]
    this.#hour = hour
  }
}

it('limits, then allowance, grants and credits decide as counters and coins on a table do', {
  timeout: 60_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(someGiven, someSteps, async (given, steps) => {
      const scene = new Scene(given)
      await scene.issue()
      for (const step of steps) {
        scene.nowMs += step.afterMs
        if (step.kind === 'ask') await scene.ask(step.cost, step.isOpen)
        else await scene.end(step.which, step.how)
        await scene.compare()
      }
    }),
    { numRuns: 120 },
  )
})

const someCrowd = fc.array(
  fc.record({ cost: fc.integer({ min: 1, max: 4 }), isOpen: fc.boolean(), isServed: fc.boolean() }),
  {
    minLength: 2,
    maxLength: 30,
  },
)

it('requests at the same time never take more than there is, and refused ones take nothing', {
  timeout: 60_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(someGiven, someCrowd, async (given, crowd) => {
      const scene = new Scene(given)
      await scene.issue()
      const before = await Promise.all(METERS.map((of) => scene.port.look('acme', of)))
      const taken = await Promise.all(
        crowd.map(async ({ cost, isOpen, isServed }) => {
          const charges = scene.limiter.plan({ ...REQUEST, cost })
          const held = await (isOpen ? scene.limiter.hold(charges) : scene.limiter.decider.acquire(charges))
          if (!held.decision.allowed) return { cost: 0, paid: 0 }
          const request = new HeldCharges(scene.limiter.decider, charges, held)
          request.end(isServed)
          return { cost, paid: isOpen && !isServed ? 0 : cost, fixed: isOpen && !isServed ? 0 : 2 }
        }),
      )
      await scene.port.settled()
      const { verdicts } = await scene.limiter.check({ ...REQUEST, cost: 0 })
      const charged = taken.reduce((sum, { cost }) => sum + cost, 0)
      expect(verdicts.map(({ verdict }) => verdict.remaining)).toEqual(given.limits.map((limit) => limit - charged))
      for (const [i, of] of METERS.entries()) {
        const used = taken.reduce((sum, { paid, fixed = 0 }) => sum + (i === 0 ? paid : fixed), 0)
        const { available, held, debt } = await scene.port.look('acme', of)
        const left = (parts: typeof available) => parts.allowance + parts.grants + parts.credits + parts.overdraft
        expect({ of, held, left: left(available) }).toEqual({ of, held: 0, left: left(before[i].available) - used })
        expect(debt).toBeLessThanOrEqual(given.overdraft)
      }
    }),
    { numRuns: 120 },
  )
})
