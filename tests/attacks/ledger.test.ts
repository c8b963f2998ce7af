import { describe, expect, it } from 'vitest'
import { type AdminKit, startAdmin } from '../../server/src/admin/admin-kit.suite.ts'
import { customer, meter, openScene } from '../../server/src/ledger/ledger.suite.ts'
import { verifyLedger } from '../../server/src/ledger/verify-ledger.ts'
import { makePostgres } from '../../server/src/quotas/database/databases.suite.ts'

const ASKED = { customer: 'acme', meter: 'exports', id: 'r1', amount: 1 }

async function start(): Promise<AdminKit> {
  const kit = await startAdmin()
  await kit.ask('POST', 'customers', { body: { id: 'acme' } })
  await kit.ask('PUT', 'meters/exports', { body: { allowance: 100 } })
  return kit
}

describe('the doors of the ledger', () => {
  it.each([
    ['no amount', { amount: undefined }],
    ['nothing', { amount: 0 }],
    ['less than nothing', { amount: -1 }],
    ['a part', { amount: 1.5 }],
    ['a text', { amount: '1' }],
    ['more than is exact', { amount: 2 ** 53 }],
    ['no id', { id: undefined }],
    ['an empty id', { id: '' }],
    ['a long id', { id: 'x'.repeat(129) }],
    ['an id with a space', { id: 'a b' }],
    ['an id with a line break', { id: 'a\nb' }],
    ['an id that is no ASCII', { id: 'ä' }],
    ['a customer that is a list', { customer: ['acme'] }],
    ['a hold of a year', { hold_seconds: 366 * 86_400 }],
    ['a field that there is not', { amounts: 5 }],
  ])('refuse %s, and book nothing', async (_, wrong) => {
    const { ask } = await start()
    const refused = await ask('POST', 'ledger/reserve', { body: { ...ASKED, ...wrong }, as: 'ledger' })
    expect([refused.status, refused.json.code]).toEqual([400, 'ADMIN_REQUEST_INVALID'])
    const { json } = await ask('GET', 'ledger/balance?customer=acme&meter=exports', { as: 'ledger' })
    expect(json).toMatchObject({ available: { allowance: 100 }, held: 0 })
  })

  it('take a thousand events, and no more, and half a megabyte, and no more', async () => {
    const { ask } = await start()
    const events = (count: number) => Array.from({ length: count }, (_, i) => ({ ...ASKED, id: `e${i}` }))
    const most = await ask('POST', 'ledger/events', { body: { events: events(1_000) }, as: 'ledger' })
    const results = most.json.results as { result: string }[]
    expect(results.filter(({ result }) => result === 'accepted')).toHaveLength(100)
    expect(results.filter(({ result }) => result === 'refused')).toHaveLength(900)
    expect((await ask('POST', 'ledger/events', { body: { events: events(1_001) }, as: 'ledger' })).status).toBe(400)
    expect((await ask('POST', 'ledger/events', { body: { events: [] }, as: 'ledger' })).status).toBe(400)
    const large = JSON.stringify({ events: [{ ...ASKED, id: 'x'.repeat(600_000) }] })
    const refused = await ask('POST', 'ledger/events', { body: large, as: 'ledger' }).catch(() => undefined)
    expect([413, undefined]).toContain(refused?.status)
  })

  it('know no customer and no meter by the names of things that objects have', async () => {
    const { ask } = await start()
    for (const name of ['constructor', 'toString', 'hasOwnProperty']) {
      for (const field of ['customer', 'meter']) {
        const refused = await ask('POST', 'ledger/reserve', { body: { ...ASKED, [field]: name }, as: 'ledger' })
        expect([name, refused.status, refused.json.code]).toEqual([name, 404, 'RECORD_UNKNOWN'])
      }
    }
  })

  it('are all that a token of a program opens, and closed to those who only look', async () => {
    const { ask } = await start()
    for (const path of ['customers', 'customers/acme/ledger', 'meters', 'tokens', 'audit', 'ledger/verify', 'usage']) {
      expect([path, (await ask('GET', path, { as: 'ledger' })).status]).toEqual([path, 403])
    }
    const credit = { id: 'mine', kind: 'credit', amount: 1_000 }
    expect((await ask('POST', 'customers/acme/ledger/exports/issues', { body: credit, as: 'ledger' })).status).toBe(403)
    expect((await ask('POST', 'ledger/reserve', { body: ASKED, as: 'viewer' })).status).toBe(403)
    expect((await ask('POST', 'ledger/reserve', { body: ASKED, as: 'none' })).status).toBe(401)
    expect((await ask('POST', 'ledger/reserve', { body: ASKED, as: 'operator' })).status).toBe(200)
  })
})

describe('the ledger on PostgreSQL', { timeout: 120_000 }, () => {
  it('keeps ids as they came, whatever they would mean to SQL', async () => {
    const scene = await openScene(await makePostgres())
    await scene.put(customer('acme'), meter('exports', { allowance: 100 }))
    const ids = ['NULL', 'null', '{}', '{a,b}', '","', '\\', '\\"', "');--", '"', '$1', '%s', '-1', '\\N']
    for (const id of ids) {
      const event = { kind: 'event', id, amount: 1 } as const
      expect((await scene.ledger.ask('acme', 'exports', event)).outcome).toMatchObject({ isRepeated: false })
      expect((await scene.ledger.ask('acme', 'exports', event)).outcome).toMatchObject({ isRepeated: true })
    }
    const note = 'a "note", with \\ and \n a line, {NULL} and ü'
    await scene.ledger.ask('acme', 'exports', { kind: 'correct', id: 'c1', corrects: 'NULL', amount: 1, note })
    const rows = await scene.quotas.db.query(
      'SELECT id, note FROM sluice.ledger_entries WHERE id IS NOT NULL ORDER BY number',
    )
    expect(rows).toEqual([...ids.map((id) => ({ id, note: null })), { id: 'c1', note }])
  })

  it('keeps nothing of what it refuses', async () => {
    const scene = await openScene(await makePostgres())
    await scene.put(customer('acme'), meter('exports', { allowance: 10 }))
    const asked = Array.from({ length: 500 }, (_, i) => [
      scene.ledger.ask('acme', 'exports', { kind: 'reserve', id: `r${i}`, amount: 11 }),
      scene.ledger.ask(`stranger-${i}`, 'exports', { kind: 'event', id: 'e', amount: 1 }),
      scene.ledger.ask('acme', `meter-${i}`, { kind: 'event', id: 'e', amount: 1 }),
    ])
    await Promise.all(asked.flat())
    // The allowance that was issued is all that there is.
    expect(await verifyLedger(scene.quotas.db)).toMatchObject({ ok: true, accounts: 1, entries: 1 })
    expect(await scene.quotas.db.query('SELECT 1 FROM sluice.ledger_holds')).toEqual([])
  })

  it('refuses what comes when too many wait, and books it when it comes again', async () => {
    const scene = await openScene(await makePostgres(), { mostWaiting: 50, lanes: 1, mostOfBatch: 5 })
    await scene.put(customer('acme'), meter('exports', { allowance: 1_000 }))
    await scene.ledger.ask('acme', 'exports', { kind: 'look' })
    const ask = (i: number) => scene.ledger.ask('acme', 'exports', { kind: 'event', id: `e${i}`, amount: 1 })
    const outcomes = await Promise.allSettled(Array.from({ length: 200 }, (_, i) => ask(i)))
    const busy = outcomes.filter(({ status }) => status === 'rejected')
    expect(busy.length).toBeGreaterThanOrEqual(150)
    for (const each of busy) expect(each).toMatchObject({ reason: { code: 'LEDGER_BUSY' } })
    for (let i = 0; i < 200; i += 40) await Promise.all(Array.from({ length: 40 }, (_, n) => ask(i + n)))
    const { balance } = await scene.ledger.ask('acme', 'exports', { kind: 'look' })
    expect(balance?.available.allowance).toBe(800)
  })
})
