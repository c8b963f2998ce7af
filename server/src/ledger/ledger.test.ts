import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { until } from '../../../tests/servers/until.mjs'
import { SLOW_MS, testDatabases } from '../quotas/database/databases.suite.ts'
import { SealedSecrets } from '../quotas/webhooks/sealed-secrets.ts'
import { newWebhookSecret } from '../quotas/webhooks/signature.ts'
import { WebhookStore } from '../quotas/webhooks/webhook-store.ts'
import { DAY_MS } from './core/account-model.suite.ts'
import type { Operation } from './core/account-state.ts'
import { MemoryAccount } from './core/memory-account.suite.ts'
import { play, START_MS, someTerms, steps, termsOfModel } from './core/steps.suite.ts'
import { customer, meter, OWNER, openScene } from './ledger.suite.ts'
import { LedgerService } from './ledger-service.ts'
import { verifyLedger } from './verify-ledger.ts'

const reserve = (id: string, amount: number): Operation => ({ kind: 'reserve', id, amount })
const event = (id: string, amount: number): Operation => ({ kind: 'event', id, amount })
const kindOf = ({ outcome }: { outcome: { kind: string } }): string => outcome.kind

describe.each(testDatabases)('the ledger on %s', { timeout: SLOW_MS }, (name, make) => {
  it('answers as an account in memory does, and its books agree with its entries', async () => {
    const scene = await openScene(await make())
    let n = 0
    await fc.assert(
      fc.asyncProperty(someTerms, steps, async (terms, all) => {
        const id = `case-${n++}`
        const { allowance, most, periods, graceMs, overdraft, holdMs } = terms
        await scene.put(
          customer(id),
          meter(id, {
            period: 'day',
            allowance,
            carryMost: most,
            carryPeriods: periods,
            graceSeconds: graceMs / 1000,
            overdraft,
            holdSeconds: holdMs / 1000,
          }),
        )
        let nowMs = START_MS
        const ledger = await scene.node({ clock: () => nowMs })
        const account = new MemoryAccount()
        const asked: [Operation, number][] = []
        play(all, (operation, atMs) => asked.push([operation, atMs]))
        for (const [operation, atMs] of asked) {
          nowMs = atMs
          const { outcomes, balance } = account.run([operation], termsOfModel(terms), atMs)
          expect(await ledger.ask(id, id, operation)).toEqual({
            outcome: outcomes[0],
            balance,
            refusalStatus: 402,
            whenUnavailable: 'closed',
          })
        }
      }),
      { numRuns: name === 'PGlite' ? 3 : 8 },
    )
    expect(await verifyLedger(scene.quotas.db)).toMatchObject({ ok: true, sum: 0, problems: [] })
  })

  it('never gives more than there is, to writers of several nodes at the same time', async () => {
    const scene = await openScene(await make())
    await scene.put(customer('acme'), meter('exports', { allowance: 1_000 }))
    const nodes = [scene.ledger, await scene.node({ lanes: 1, mostOfBatch: 7 }), await scene.node()]
    const answers = await Promise.all(
      Array.from({ length: 1_500 }, (_, i) => nodes[i % 3].ask('acme', 'exports', reserve(`r${i}`, 1))),
    )
    expect(answers.filter((each) => kindOf(each) === 'reserved')).toHaveLength(1_000)
    expect(await verifyLedger(scene.quotas.db)).toMatchObject({ ok: true })
  })

  it('does what is asked twice at the same time once, and tells another body under its id apart', async () => {
    const scene = await openScene(await make())
    await scene.put(customer('acme'), meter('exports', { allowance: 100 }))
    const nodes = [scene.ledger, await scene.node({ mostOfBatch: 1 })]
    const asked = Array.from({ length: 50 }, (_, i) =>
      nodes[i % 2].ask('acme', 'exports', event('e1', i % 4 === 3 ? 8 : 5)),
    )
    const answers = await Promise.all(asked)
    const settled = answers.filter((each) => kindOf(each) === 'settled')
    const other = answers.filter(({ outcome }) => outcome.kind === 'rejected' && outcome.reason === 'id_reused')
    expect(settled.length + other.length).toBe(50)
    expect(settled.filter(({ outcome }) => 'isRepeated' in outcome && !outcome.isRepeated)).toHaveLength(1)
    const { balance } = await scene.ledger.ask('acme', 'exports', { kind: 'look' })
    expect([95, 92]).toContain(balance?.available.allowance)
  })

  it('refuses a repetition of what is in flight, and another body, and does the first', async () => {
    const { quotas, ledger, put } = await openScene(await make())
    await put(customer('acme'), meter('exports', { allowance: 100 }))
    const service = new LedgerService(quotas.db, ledger, quotas.audit)
    const ask = (operation: Operation) => service.ask('acme', 'exports', operation)
    const issue = (amount: number): Operation => ({ kind: 'issue', id: 'i1', lotKind: 'credit', amount })
    const answers = await Promise.all([
      ask(reserve('r1', 5)),
      ask(reserve('r1', 5)),
      ask(reserve('r1', 6)),
      service.change('acme', 'exports', issue(7), OWNER),
      service.change('acme', 'exports', issue(7), OWNER),
    ])
    expect(answers.map(({ outcome }) => outcome)).toMatchObject([
      { kind: 'reserved', isRepeated: false },
      { kind: 'rejected', reason: 'in_flight' },
      { kind: 'rejected', reason: 'id_reused' },
      { kind: 'issued', isRepeated: false },
      { kind: 'rejected', reason: 'in_flight' },
    ])
    expect((await ask(reserve('r1', 5))).outcome).toMatchObject({ kind: 'reserved', isRepeated: true })
    // A reservation whose answer did not come may be given up.
    const given = await Promise.all([ask(reserve('r2', 5)), ask({ kind: 'release', id: 'r2' })])
    expect(given.map(kindOf)).toEqual(['reserved', 'released'])
  })

  it('takes an id that comes twice in one request as a repetition', async () => {
    const { quotas, ledger, put } = await openScene(await make())
    await put(customer('acme'), meter('exports', { allowance: 100 }))
    const service = new LedgerService(quotas.db, ledger, quotas.audit)
    const asked = [event('e1', 5), event('e1', 5), event('e1', 6), event('e2', 1)]
    const batch = asked.map((operation) => ({ customerId: 'acme', meterId: 'exports', operation }))
    const [first, second] = await Promise.all([service.askAll(batch), service.askAll(batch.slice(0, 1))])
    expect(first.map(({ outcome }) => outcome)).toMatchObject([
      { kind: 'settled', isRepeated: false },
      { kind: 'settled', isRepeated: true },
      { kind: 'rejected', reason: 'id_reused' },
      { kind: 'settled', isRepeated: false },
    ])
    expect(second[0].outcome).toEqual({ kind: 'rejected', reason: 'in_flight' })
    expect((await service.askAll(batch)).map(kindOf)).toEqual(['settled', 'settled', 'rejected', 'settled'])
  })

  it('takes accounts in one order, whatever the order in which they are asked', async () => {
    const scene = await openScene(await make())
    const ids = Array.from({ length: 20 }, (_, i) => `c${i}`)
    await scene.put(meter('exports', { allowance: 100 }), ...ids.map((id) => customer(id)))
    const nodes = await Promise.all([scene.node({ lanes: 1 }), scene.node({ lanes: 1 })])
    for (let round = 0; round < 10; round++) {
      const orders = [ids, [...ids].reverse()]
      const asked = nodes.flatMap((node, n) =>
        orders[n].map((id) => node.ask(id, 'exports', event(`e${round}-${n}`, 1))),
      )
      expect((await Promise.all(asked)).map(kindOf)).toEqual(asked.map(() => 'settled'))
    }
    expect(await verifyLedger(scene.quotas.db)).toMatchObject({ ok: true, accounts: 20, entries: 20 + 400 })
  })

  it('lets accounts be that have nothing to do with one that the database refuses', async () => {
    const place = await make()
    const scene = await openScene(place)
    await scene.put(meter('exports', { allowance: 9 }), customer('good'), customer('bad'))
    for (const id of ['good', 'bad']) await scene.ledger.ask(id, 'exports', { kind: 'look' })
    await place.asSuperuser("UPDATE sluice.ledger_accounts SET balance = 2, issued = 2 WHERE customer_id = 'bad'")
    const asked = ['good', 'bad', 'good'].map((id, i) => scene.ledger.ask(id, 'exports', event(`e${i}`, 4)))
    const outcomes = await Promise.allSettled(asked)
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(outcomes[1]).toMatchObject({ reason: { code: 'DATABASE_FAILED' } })
    const { ok, problems } = await verifyLedger(scene.quotas.db)
    expect([ok, problems.every(({ customerId }) => customerId === 'bad')]).toEqual([false, true])
  })

  it('knows a customer that was removed, and settles what was open', async () => {
    const scene = await openScene(await make())
    await scene.put(meter('exports', { allowance: 9 }), customer('acme'))
    const ask = (operation: Operation) => scene.ledger.ask('acme', 'exports', operation)
    await ask(reserve('r1', 5))
    await scene.quotas.store.remove('customers', 'acme', { id: 'x', name: 'x', address: undefined, reason: undefined })
    expect((await ask(reserve('r2', 1))).outcome).toEqual({ kind: 'unknown', what: 'customer' })
    expect((await ask({ kind: 'commit', id: 'r1', used: 2 })).outcome).toMatchObject({ kind: 'settled', used: 2 })
    expect((await scene.ledger.ask('none', 'exports', reserve('r1', 1))).outcome).toEqual({
      kind: 'unknown',
      what: 'customer',
    })
    expect((await scene.ledger.ask('acme', 'none', reserve('r1', 1))).outcome).toEqual({
      kind: 'unknown',
      what: 'meter',
    })
  })

  it('does what a person asks in one transaction with its entry in the audit log, once', async () => {
    const { quotas, ledger, put } = await openScene(await make())
    await put(customer('acme'), meter('exports'))
    const service = new LedgerService(quotas.db, ledger, quotas.audit)
    const issue = { kind: 'issue', id: 'i1', lotKind: 'credit', amount: 50 } as const
    for (const isRepeated of [false, true]) {
      expect((await service.change('acme', 'exports', issue, OWNER)).outcome).toMatchObject({
        kind: 'issued',
        isRepeated,
      })
    }
    expect((await service.change('none', 'exports', issue, OWNER)).outcome.kind).toBe('unknown')
    const { items } = await quotas.audit.list({ action: 'ledger.issue', limit: 10 })
    expect(items).toMatchObject([{ customerId: 'acme', after: issue, actor: { id: OWNER.id } }])
  })

  it('shows accounts, the statement of any period, and the balance of any time', async () => {
    let nowMs = START_MS
    const { quotas, ledger, put } = await openScene(await make(), { clock: () => nowMs })
    await put(customer('acme'), meter('exports', { allowance: 9, period: 'day' }))
    const service = new LedgerService(quotas.db, ledger, quotas.audit)
    await service.ask('acme', 'exports', event('e1', 4))
    await service.ask('acme', 'exports', reserve('r1', 2))
    nowMs += DAY_MS
    await service.ask('acme', 'exports', event('e2', 1))
    const query = { customerId: 'acme', meterId: 'exports', after: 0, limit: 2 }
    const first = await service.statement(query, START_MS)
    expect(first).toMatchObject({ state: 'closed', totals: { issued: 9, used: 4, lapsed: 5 }, closing: 0, next: 2 })
    const rest = await service.statement({ ...query, after: 2 }, START_MS)
    const kinds = [first, rest].flatMap((page) => page?.entries.map(({ kind }) => kind))
    expect(kinds).toEqual(['issue', 'use', 'expire', 'lapse'])
    expect(await service.statement(query, undefined)).toMatchObject({ state: 'open', totals: { opening: 0, used: 1 } })
    expect(await service.statement(query, START_MS - DAY_MS)).toBeUndefined()
    expect(await service.balanceAt('acme', 'exports', START_MS)).toEqual({ balance: 5, debt: 0 })
    expect(await service.balanceAt('acme', 'exports', nowMs)).toEqual({ balance: 8, debt: 0 })
    const [account] = await service.accounts('acme')
    expect(account).toMatchObject({ meterId: 'exports', used: 1, openHolds: 0, lots: [{ remaining: 8 }] })
  })

  it('makes a webhook of each share that was reached, once in a period, with what it books', async () => {
    let nowMs = START_MS
    const { quotas, ledger, put } = await openScene(await make(), { clock: () => nowMs })
    await put(customer('acme'), customer('other'), meter('exports', { allowance: 100, period: 'day' }))
    const store = new WebhookStore({
      ...quotas,
      sealed: new SealedSecrets(() => quotas.keys.keyFor('webhook secrets')),
    })
    const made = async (customerId: string | undefined, thresholds: number[], events: string[]) => {
      const fields = { url: 'https://example.com/', description: '', customerId, events, thresholds, isEnabled: true }
      const { id } = await store.create(fields, newWebhookSecret(), OWNER)
      return async () => (await store.deliveries(id, { limit: 99 })).items.map(({ body }) => JSON.parse(body)).reverse()
    }
    const wanted = await made('acme', [60, 90, 100], ['ledger.balance_low'])
    const others = await made('other', [50], ['ledger.balance_low'])
    const unwanted = await made(undefined, [60], ['quota.threshold'])
    const use = (id: string, amount: number) => ledger.ask('acme', 'exports', event(id, amount))
    for (const [i, amount] of [59, 1, 29, 30, 30].entries()) await use(`e${i}`, amount)
    expect((await wanted()).map(({ data }) => [data.threshold, data.used, data.balance])).toEqual([[60, 60, 40]])
    await use('e6', 11)
    await ledger.ask('acme', 'exports', { kind: 'issue', id: 'i1', lotKind: 'credit', amount: 100 })
    await use('e7', 100)
    const found = (await wanted()).sort((a, b) => a.data.threshold - b.data.threshold)
    expect(found).toMatchObject([
      { type: 'ledger.balance_low', data: { customer_id: 'acme', meter: 'exports', threshold: 60, debt: 0 } },
      { data: { threshold: 90 } },
      { data: { threshold: 100, used: 100, balance: 0 } },
    ])
    nowMs += DAY_MS
    await use('e8', 60)
    expect((await wanted()).map(({ data }) => data.threshold).sort()).toEqual([100, 60, 60, 90])
    expect([await others(), await unwanted()]).toEqual([[], []])
  })

  it('ends holds whose time is over, of accounts that nobody asks about', async () => {
    const { quotas, ledger, put } = await openScene(await make())
    await put(customer('acme'), meter('exports', { allowance: 9 }))
    await ledger.ask('acme', 'exports', { kind: 'reserve', id: 'r1', amount: 5, holdMs: 1 })
    await until('the hold is over', async () => (await ledger.expireHolds()) > 0)
    expect(await quotas.db.query('SELECT 1 FROM sluice.ledger_holds')).toEqual([])
    expect(await ledger.expireHolds()).toBe(0)
  })

  it('refuses to change an entry, or a period that is closed', async () => {
    const place = await make()
    let nowMs = START_MS
    const scene = await openScene(place, { clock: () => nowMs })
    await scene.put(meter('exports', { allowance: 9, period: 'day' }), customer('acme'))
    await scene.ledger.ask('acme', 'exports', event('e1', 4))
    nowMs += DAY_MS
    await scene.ledger.ask('acme', 'exports', { kind: 'look' })
    for (const sql of [
      'UPDATE sluice.ledger_entries SET amount = 1',
      'DELETE FROM sluice.ledger_entries',
      'TRUNCATE sluice.ledger_entries',
      'UPDATE sluice.ledger_periods SET used = used',
    ]) {
      await expect(scene.quotas.db.query(sql)).rejects.toMatchObject({ sqlState: '23001' })
    }
  })

  it('finds each figure that was changed behind its back', async () => {
    const place = await make()
    const scene = await openScene(place)
    await scene.put(meter('exports', { allowance: 9 }), customer('acme'))
    await scene.ledger.ask('acme', 'exports', event('e1', 4))
    await scene.ledger.ask('acme', 'exports', reserve('r1', 2))
    const undo = async (change: string, back: string): Promise<void> => {
      await place.asSuperuser(change)
      expect(await verifyLedger(scene.quotas.db), change).toMatchObject({ ok: false })
      await place.asSuperuser(back)
      expect(await verifyLedger(scene.quotas.db), back).toMatchObject({ ok: true })
    }
    await undo('UPDATE sluice.ledger_lots SET remaining = 6', 'UPDATE sluice.ledger_lots SET remaining = 5')
    await undo('UPDATE sluice.ledger_lots SET held = 1', 'UPDATE sluice.ledger_lots SET held = 2')
    await undo('UPDATE sluice.ledger_accounts SET last_entry = 3', 'UPDATE sluice.ledger_accounts SET last_entry = 2')
    await undo(
      'UPDATE sluice.ledger_accounts SET issued = 10, used = 5',
      'UPDATE sluice.ledger_accounts SET issued = 9, used = 4',
    )
    await undo(
      'UPDATE sluice.ledger_accounts SET debt = 1, lapsed = 1',
      'UPDATE sluice.ledger_accounts SET debt = 0, lapsed = 0',
    )
    await undo(
      'SET session_replication_role = replica; DELETE FROM sluice.ledger_entries WHERE number = 2; SET session_replication_role = origin',
      `INSERT INTO sluice.ledger_entries (account_id, number, id, part, kind, lot, amount, request, at_ms, event_at_ms, period_ms)
       SELECT id, 2, 'e1', 0, 'use', 1, 4, 'event 4 ', 0, 0, period_start_ms FROM sluice.ledger_accounts`,
    )
  })
})
