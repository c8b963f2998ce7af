import { describe, expect, it } from 'vitest'
import { startAdmin } from '../admin-kit.suite.ts'

async function start(meter: object) {
  const kit = await startAdmin()
  await kit.ask('POST', 'customers', { body: { id: 'acme' } })
  await kit.ask('PUT', 'meters/exports', { body: { period: 'day', allowance: 10, ...meter } })
  const reserve = (id: string, amount: number) =>
    kit.ask('POST', 'ledger/reserve', { body: { customer: 'acme', meter: 'exports', id, amount }, as: 'ledger' })
  return { ...kit, reserve }
}

describe('a refusal of the ledger', () => {
  it('is 402 by default, and says what is left, what ran out and what would help', async () => {
    const { reserve, ask } = await start({})
    expect((await reserve('r1', 8)).status).toBe(200)
    const { status, json, headers } = await reserve('r2', 5)
    expect([status, headers.get('retry-after'), headers.get('content-type')]).toEqual([
      402,
      null,
      'application/problem+json',
    ])
    expect(json).toMatchObject({
      code: 'LEDGER_SHORT',
      needed: 5,
      available: { allowance: 2, grants: 0, credits: 0, overdraft: 0 },
      ran_out: ['allowance'],
      renews_at: '2026-03-02T00:00:00.000Z',
      would_help: ['next_period', 'credits'],
    })
    await ask('POST', 'customers/acme/ledger/exports/issues', { body: { id: 'i1', kind: 'credit', amount: 1 } })
    expect((await reserve('r2', 5)).json).toMatchObject({ ran_out: ['allowance', 'credits'] })
  })

  it('is 429 where the meter says so, with the time of the next allowance if that would pay', async () => {
    const { reserve } = await start({ refusal_status: 429 })
    await reserve('r1', 8)
    const soon = await reserve('r2', 5)
    // From 10:00:30 to midnight.
    expect([soon.status, soon.headers.get('retry-after')]).toEqual([429, String(13 * 3_600 + 59 * 60 + 30)])
    const never = await reserve('r3', 11)
    expect([never.status, never.headers.get('retry-after')]).toEqual([429, null])
    expect(never.json).toMatchObject({ renews_at: null, would_help: ['credits'] })
  })

  it('keeps nothing: the same id may be tried again after a top-up', async () => {
    const { reserve, ask } = await start({})
    expect((await reserve('r1', 11)).status).toBe(402)
    await ask('POST', 'customers/acme/ledger/exports/issues', { body: { id: 'i1', kind: 'grant', amount: 5 } })
    const { status, json } = await reserve('r1', 11)
    expect([status, json.paid_from]).toEqual([200, { allowance: 10, grants: 1, credits: 0, overdraft: 0, unpaid: 0 }])
  })

  it('is the result of one event of a batch, and of no other', async () => {
    const { ask } = await start({})
    const events = [4, 9, 6].map((amount, i) => ({ customer: 'acme', meter: 'exports', id: `e${i}`, amount }))
    const { json } = await ask('POST', 'ledger/events', { body: { events }, as: 'ledger' })
    expect(json.results).toMatchObject([
      { id: 'e0', result: 'accepted', code: null },
      { id: 'e1', result: 'refused', code: 'LEDGER_SHORT', shortage: { needed: 9 } },
      { id: 'e2', result: 'accepted' },
    ])
  })
})
