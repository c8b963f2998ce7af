import { expect, it } from 'vitest'
import { ConnectionBudgets, DEFAULT_BUDGETS } from './budgets.ts'

/** Each row: [at ms, calls answered, whether one could be spent]. */
it.each<[string, [number, number, boolean][]]>([
  [
    'has its burst immediately',
    [
      [0, 0, true],
      [0, 0, true],
      [0, 0, true],
      [0, 0, false],
    ],
  ],
  [
    'is refilled with time',
    [
      [0, 0, true],
      [0, 0, true],
      [0, 0, true],
      [500, 0, true],
      [500, 0, false],
    ],
  ],
  [
    'is refilled with answered calls',
    [
      [0, 0, true],
      [0, 0, true],
      [0, 0, true],
      [0, 2, true],
      [0, 2, true],
      [0, 2, false],
    ],
  ],
  [
    'never grows past its burst',
    [
      [0, 0, true],
      [60_000, 60, true],
      [60_000, 60, true],
      [60_000, 60, true],
      [60_000, 60, false],
    ],
  ],
])('a budget %s', (_name, rows) => {
  const budgets = new ConnectionBudgets({ ...DEFAULT_BUDGETS, pings: { burst: 3, perSecond: 2 } })
  for (const [atMs, answered, expected] of rows) expect(budgets.spend('pings', atMs, answered)).toBe(expected)
})

it('budgets are apart from each other', () => {
  const budgets = new ConnectionBudgets({ ...DEFAULT_BUDGETS, pings: { burst: 1, perSecond: 0 } })
  expect([budgets.spend('pings', 0, 0), budgets.spend('pings', 0, 0), budgets.spend('settings', 0, 0)]).toEqual([
    true,
    false,
    true,
  ])
})

it('a budget of nothing allows nothing', () => {
  const budgets = new ConnectionBudgets({ ...DEFAULT_BUDGETS, pings: { burst: 0, perSecond: 0 } })
  expect(budgets.spend('pings', 0, 0)).toBe(false)
})

it('answered calls give nothing back to the budget of settings', () => {
  const budgets = new ConnectionBudgets({ ...DEFAULT_BUDGETS, settings: { burst: 1, perSecond: 0 } })
  expect([budgets.spend('settings', 0, 0), budgets.spend('settings', 0, 1_000)]).toEqual([true, false])
})
