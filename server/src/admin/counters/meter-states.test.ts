import { describe, expect, it } from 'vitest'
import { customer, meter } from '../../ledger/ledger.suite.ts'
import { MemoryPort } from '../../ledger/rules/memory-port.suite.ts'
import { AdminParts } from '../api/parts.ts'
import { LEDGER } from '../ledger/ledger-key.ts'
import type { LookedCounter } from './counters.ts'
import { meterStates } from './meter-states.ts'

const NOW_MS = Date.UTC(2026, 2, 10)
const RULE: LookedCounter = {
  ...{ descriptor: 1, ruleId: 'user', ruleName: 'exports', described: '', isUnlimited: false, isShadow: false },
  ...{ switchedTo: undefined, source: { kind: 'rule' as const, id: undefined }, key: 'k' },
  ...{ limit: 20, used: 0, remaining: 20, resetAfterMs: 0, retryAfterMs: 0, isImpossible: false },
}
const takes = (amount: number, more: Partial<LookedCounter> = {}, changes: object = {}): LookedCounter => ({
  ...RULE,
  ...more,
  ledger: { meter: 'exports', takes: amount, customerId: 'acme', ...changes },
})

function scene() {
  const port = new MemoryPort([meter('exports', { allowance: 10 })], [customer('acme')], () => NOW_MS)
  const call = { parts: new AdminParts().with(LEDGER, port as never) }
  return { port, say: async (...counters: LookedCounter[]) => meterStates(call, counters) }
}

describe('what a meter would say', () => {
  it('is that it pays, or why not and what would help', async () => {
    const { say, port } = scene()
    const [pays, short] = await say(takes(10), takes(11))
    expect(pays).toMatchObject({
      ...{ descriptor: 1, rule_id: 'user', rule_name: 'exports', meter: 'exports', takes: 10, customer_id: 'acme' },
      ...{ code: null, status: null, what_would_admit: 'It is paid: 10 of exports are left.' },
    })
    expect(short).toMatchObject({
      code: 'LEDGER_SHORT',
      status: 402,
      balance: { available: { allowance: 10 }, held: 0 },
      what_would_admit:
        'It takes 11 of exports, and 10 are left. Issue credits or a grant, or wait for the next period, which begins at 2026-04-01T00:00:00.000Z, if its allowance is enough.',
    })
    // Nothing was booked or held.
    expect(port.kinds()).toEqual(['look', 'look'])
  })

  it('is that no one pays, there is no such meter, or no answer', async () => {
    const { say, port } = scene()
    expect(await say(takes(1, {}, { customerId: undefined }))).toMatchObject([
      { code: 'LEDGER_CUSTOMER_UNKNOWN', status: 402, customer_id: null, balance: null },
    ])
    expect(await say(takes(1, {}, { meter: 'exprots' }))).toMatchObject([
      { code: 'LEDGER_UNAVAILABLE', status: 503, what_would_admit: expect.stringContaining('there is none') },
    ])
    port.isAway = true
    expect(await say(takes(1))).toMatchObject([{ code: 'LEDGER_UNAVAILABLE', status: 503 }])
    expect(await meterStates({ parts: new AdminParts() }, [takes(1)])).toMatchObject([
      { code: 'LEDGER_UNAVAILABLE', what_would_admit: expect.stringContaining('--database') },
    ])
  })

  it('is not asked for by rules that only report, are off, or name no meter', async () => {
    const { say } = scene()
    expect(await say(RULE, takes(1, { isShadow: true }), takes(1, { switchedTo: 'off' }))).toEqual([])
    expect(await say(takes(1, { switchedTo: 'shadow' }))).toEqual([])
    expect(await say(takes(1, { isShadow: true, switchedTo: 'enforce' }))).toHaveLength(1)
  })
})
