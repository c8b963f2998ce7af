import fc from 'fast-check'
import { DAY_MS, type ModelTerms } from './account-model.suite.ts'
import type { Operation } from './account-state.ts'
import { PeriodCalendar } from './period-calendar.ts'
import type { Terms } from './terms.ts'

export const START_MS = Date.UTC(2026, 0, 31, 22)
export const HOUR_MS = 3_600_000
const calendar = new PeriodCalendar({ unit: 'day', timeZone: 'UTC' })
export const termsOfModel = ({ most, periods, ...terms }: ModelTerms): Terms => ({
  ...terms,
  calendar,
  carry: { most, periods },
})

export const someTerms: fc.Arbitrary<ModelTerms> = fc.record({
  allowance: fc.integer({ min: 0, max: 12 }),
  most: fc.integer({ min: 0, max: 8 }),
  periods: fc.integer({ min: 1, max: 3 }),
  graceMs: fc.constantFrom(0, 2 * HOUR_MS, 30 * HOUR_MS),
  overdraft: fc.constantFrom(0, 0, 4),
  holdMs: fc.constantFrom(HOUR_MS, 30 * HOUR_MS),
})

type Step = {
  readonly afterMs: number
  readonly operation: (ids: readonly string[], id: string, nowMs: number) => Operation
}

const amounts = fc.integer({ min: 1, max: 9 })
const which = fc.nat({ max: 1_000 })
const pick = (ids: readonly string[], n: number): string => ids[n % Math.max(1, ids.length)] ?? 'none'
const hours = fc.integer({ min: 0, max: 40 })
const operations: fc.Arbitrary<Step['operation']> = fc.oneof(
  {
    arbitrary: amounts.map((amount): Step['operation'] => (_, id) => ({ kind: 'reserve', id, amount })),
    weight: 4,
  },
  {
    arbitrary: fc.tuple(which, fc.integer({ min: 0, max: 9 })).map(([n, used]): Step['operation'] => (ids) => ({
      kind: 'commit',
      id: pick(ids, n),
      used,
    })),
    weight: 4,
  },
  which.map((n): Step['operation'] => (ids) => ({ kind: 'release', id: pick(ids, n) })),
  {
    arbitrary: fc.tuple(amounts, hours).map(([amount, ago]): Step['operation'] => (_, id, nowMs) => ({
      kind: 'event',
      id,
      amount,
      // Not before the account's first period, whose days no model knows.
      atMs: Math.max(nowMs - ago * HOUR_MS, Math.floor(START_MS / DAY_MS) * DAY_MS),
    })),
    weight: 2,
  },
  fc
    .tuple(
      fc.constantFrom<('grant' | 'credit')[]>('grant', 'credit'),
      amounts,
      fc.nat({ max: 2 }),
      hours,
      hours,
      fc.boolean(),
    )
    .map(([lotKind, amount, priority, from, until, isEndless]): Step['operation'] => (_, id, nowMs) => ({
      kind: 'issue',
      id,
      lotKind,
      amount,
      priority,
      effectiveAtMs: nowMs + (from > 30 ? (from - 30) * HOUR_MS : 0),
      expiresAtMs: isEndless ? undefined : nowMs + (1 + until) * HOUR_MS,
    })),
  fc.tuple(which, amounts).map(([n, amount]): Step['operation'] => (ids, id) => ({
    kind: 'correct',
    id,
    corrects: pick(ids, n),
    amount,
  })),
  fc.constant<Step['operation']>(() => ({ kind: 'look' })),
)
export const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({
    afterMs: fc.oneof(
      fc.constant(0),
      fc.integer({ min: 0, max: 3 * HOUR_MS }),
      fc.integer({ min: 0, max: 4 * DAY_MS }),
    ),
    operation: operations,
  }),
  { minLength: 1, maxLength: 40 },
)

/** Turns steps into what is asked at what time. Ids of reservations and events may be named later. */
export function play(all: readonly Step[], ask: (operation: Operation, nowMs: number) => void): void {
  const ids: string[] = []
  let nowMs = START_MS
  all.forEach(({ afterMs, operation }, i) => {
    nowMs += afterMs
    const made = operation(ids, `id-${i}`, nowMs)
    if (made.kind === 'reserve' || made.kind === 'event') ids.push(made.id)
    ask(made, nowMs)
  })
}
