import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { makeTemporaryDir } from '../../../../tests/servers/reaper.mjs'
import { until } from '../../../../tests/servers/until.mjs'
import { makePostgres } from '../../quotas/database/databases.suite.ts'
import type { Meter } from '../../quotas/model.ts'
import type { Operation } from '../core/account-state.ts'
import type { Asked } from '../in-flight.ts'
import { customer, meter, openScene } from '../ledger.suite.ts'
import { verifyLedger } from '../verify-ledger.ts'
import { Journal } from './journal.ts'
import { OutageLedger } from './outage-ledger.ts'

const LONG_MS = 120_000

const event = (id: string, amount: number): Operation => ({ kind: 'event', id, amount })
const reserve = (id: string, amount: number): Operation => ({ kind: 'reserve', id, amount })
const commit = (id: string, used: number): Operation => ({ kind: 'commit', id, used })

/** A ledger with a journal, on a PostgreSQL that can be killed, and one account whose balance is known. */
async function open(whenUnavailable: Meter['whenUnavailable'], mostBytes = 10_000_000) {
  const place = await makePostgres({ own: true })
  const scene = await openScene(place)
  await scene.put(customer('acme'), meter('exports', { allowance: 100, overdraft: 10, whenUnavailable }))
  const path = join(makeTemporaryDir('outage'), 'journal')
  const lost: [Asked, string][] = []
  const start = async (): Promise<OutageLedger> => {
    const journal = await Journal.open(path, { mostBytes })
    const ledger = new OutageLedger(scene.ledger, journal, { lost: (asked, reason) => lost.push([asked, reason]) })
    onTestFinished(() => ledger.close())
    return ledger
  }
  const ledger = await start()
  const ask = async (operation: Operation, of = ledger) =>
    of.ask('acme', 'exports', operation).then(
      ({ outcome }) => outcome,
      (error: { code: string }) => error.code,
    )
  await ask(event('before', 10))
  const booked = async (of = ledger): Promise<void> => {
    await until('all is booked', () => of.waiting === 0 && !of.isAway, 60_000)
    expect(await verifyLedger(scene.quotas.db)).toMatchObject({ ok: true, sum: 0 })
  }
  const account = async () =>
    (
      await scene.quotas.db.query<Record<'used' | 'unpaid' | 'debt' | 'balance', number>>(
        'SELECT used, unpaid, debt, balance FROM sluice.ledger_accounts',
      )
    )[0]
  return { place, scene, ledger, lost, start, ask, booked, account }
}

describe('while the database is unavailable', { timeout: LONG_MS }, () => {
  it('a meter that is closed fails', async () => {
    const { place, ask, ledger } = await open('closed')
    await place.kill()
    expect(await ask(event('e1', 1))).toBe('DATABASE_UNAVAILABLE')
    expect(ledger.waiting).toBe(0)
  })

  it('a meter that buffers takes what was last seen available, once, and books it when the database has recovered', async () => {
    const { place, ask, ledger, booked, account, lost } = await open('buffer')
    await place.kill()
    expect(await ask(event('e1', 5))).toEqual({ kind: 'buffered', isRepeated: false })
    expect(await ask(event('e1', 5))).toEqual({ kind: 'buffered', isRepeated: true })
    expect(await ask(event('e1', 6))).toEqual({ kind: 'rejected', reason: 'id_reused' })
    expect(await ask(reserve('r1', 90))).toEqual({ kind: 'buffered', isRepeated: false })
    // 100 and an overdraft of 10, less what was used: 5 are left.
    expect(await ask(event('e2', 6))).toBe('DATABASE_UNAVAILABLE')
    expect(await ask(commit('r1', 80))).toEqual({ kind: 'buffered', isRepeated: false })
    expect(await ask(event('e2', 6))).toEqual({ kind: 'buffered', isRepeated: false })
    expect(await ask({ kind: 'look' })).toBe('DATABASE_UNAVAILABLE')
    expect(ledger.waiting).toBe(4)
    await place.revive()
    await booked()
    expect([await account(), lost]).toMatchObject([{ used: 101, unpaid: 0, debt: 1 }, []])
    expect(await ask(event('e1', 5))).toMatchObject({ kind: 'settled', isRepeated: true })
    expect(await ask(event('e3', 1))).toMatchObject({ kind: 'settled', isRepeated: false })
  })

  it('what others used meanwhile is unpaid under buffer, and a debt under open', async () => {
    for (const [policy, expected] of [
      ['buffer', { used: 190, unpaid: 80, debt: 10, balance: 0 }],
      ['open', { used: 190, unpaid: 0, debt: 90, balance: 0 }],
    ] as const) {
      const { place, scene, ask, booked, account } = await open(policy)
      const other = await scene.node()
      await other.ask('acme', 'exports', event('other', 80))
      await place.kill()
      expect(await ask(reserve('r1', 60))).toMatchObject({ kind: 'buffered' })
      expect(await ask(commit('r1', 60))).toMatchObject({ kind: 'buffered' })
      expect(await ask(event('e1', 40))).toMatchObject({ kind: 'buffered' })
      await place.revive()
      await booked()
      expect([policy, await account()]).toEqual([policy, expected])
    }
  })

  it('a meter that is open takes anything, until the journal is full', async () => {
    const { place, ask, booked, account } = await open('open', 1_000)
    await place.kill()
    const outcomes = []
    for (let i = 0; i < 20; i++) outcomes.push(await ask(event(`e${i}`, 1_000)))
    const taken = outcomes.filter((each) => typeof each === 'object').length
    expect(outcomes.slice(taken)).toEqual(Array.from({ length: 20 - taken }, () => 'LEDGER_BUSY'))
    expect(taken).toBeGreaterThan(3)
    await place.revive()
    await booked()
    expect(await account()).toMatchObject({ used: 10 + taken * 1_000, debt: taken * 1_000 - 90 })
    expect(await ask(event('e19', 1))).not.toBe('LEDGER_BUSY')
  })

  it('what was confirmed survives the process, and is booked in order by the next one', async () => {
    const { place, ask, ledger, start, booked, account, lost } = await open('buffer')
    await place.kill()
    await ask(reserve('r1', 50))
    await ask(commit('r1', 20))
    await ask({ kind: 'reserve', id: 'r2', amount: 9, holdMs: 60_000 })
    await ask({ kind: 'release', id: 'r2' })
    await ledger.close()
    const next = await start()
    expect(next.waiting).toBe(4)
    expect(await ask(commit('r1', 20), next)).toEqual({ kind: 'buffered', isRepeated: true })
    await place.revive()
    await booked(next)
    expect([await account(), lost]).toMatchObject([{ used: 30, unpaid: 0, balance: 70 }, []])
    expect(await ask(reserve('r2', 9), next)).toMatchObject({ kind: 'rejected', reason: 'id_reused' })
  })

  it('reports what was confirmed and cannot be booked', async () => {
    const { place, ask, booked, lost } = await open('buffer')
    await place.kill()
    expect(await ask(commit('never reserved', 5))).toMatchObject({ kind: 'buffered' })
    expect(await ask(event('e1', 1))).toMatchObject({ kind: 'buffered' })
    await place.revive()
    await booked()
    expect(lost).toMatchObject([[{ operation: { id: 'never reserved' } }, 'hold_unknown']])
  })

  it('books what arrived while the journal was booked, behind it', async () => {
    const { place, ask, booked, account } = await open('open')
    await place.kill()
    const answers: unknown[] = []
    for (let n = 0; n < 20; n++) answers.push(await ask(event(`e${n}`, 10)))
    await place.revive()
    const last = async () => answers[answers.push(await ask(event(`e${answers.length}`, 10))) - 1] as { kind: string }
    while ((await last()).kind === 'buffered') expect(answers.length).toBeLessThan(50_000)
    expect(answers.at(-1)).toMatchObject({ kind: 'refused' })
    expect(answers.slice(0, -1)).toEqual(answers.slice(0, -1).map(() => ({ kind: 'buffered', isRepeated: false })))
    await booked()
    expect(await account()).toMatchObject({ used: 10 * answers.length })
  })
})
