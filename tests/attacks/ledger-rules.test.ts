import { describe, expect, it } from 'vitest'
import { customer, meter, openScene } from '../../server/src/ledger/ledger.suite.ts'
import type { LedgerPort } from '../../server/src/ledger/rules/ledger-port.ts'
import { RulePayer } from '../../server/src/ledger/rules/rule-payer.ts'
import { verifyLedger } from '../../server/src/ledger/verify-ledger.ts'
import { QuotaBook } from '../../server/src/quotas/book/quota-book.ts'
import { makePostgres } from '../../server/src/quotas/database/databases.suite.ts'
import { compileObjects } from '../../src/core/rules/compile.ts'
import { Limiter } from '../../src/engine/limiter.ts'
import { MemoryStore } from '../../src/stores/memory/memory-store.ts'

const RULES = compileObjects([
  {
    domain: 'd',
    descriptors: ['customer', 'api_key'].map((key) => ({
      key,
      rate_limit: {
        unit: 'day' as const,
        requests_per_unit: 1_000_000,
        ledger: { meter: 'exports', amount: 'settled' as const },
      },
    })),
  },
])
const ask = (value: string, key = 'customer') => ({ domain: 'd', descriptors: [{ entries: [{ key, value }] }] })
const HOLD_SECONDS = 60

async function start() {
  let nowMs = Date.now()
  const scene = await openScene(await makePostgres(), { clock: () => nowMs })
  const people = [customer('greedy'), customer('other')]
  await scene.put(...people, meter('exports', { allowance: 100, holdSeconds: HOLD_SECONDS }))
  const book = new QuotaBook({ hash: (key) => key })
  for (const each of people) book.put('customers', each.id, each)
  const asked: string[] = []
  const port: LedgerPort = {
    ask: (of, meterId, operation) => {
      asked.push(operation.kind)
      return scene.ledger.ask(of, meterId, operation)
    },
  }
  const events = { unavailable: (_: string, why: string) => expect.unreachable(why), lost: () => {} }
  const payer = new RulePayer(port, () => book, { events, withinMs: 60_000, nowMs: () => nowMs })
  const limiter = new Limiter(() => RULES, new MemoryStore(), { payer, quotas: () => book })
  const rows = async (table: string) => (await scene.quotas.db.query(`SELECT 1 FROM sluice.${table}`)).length
  const left = async (of: string) => (await scene.ledger.ask(of, 'exports', { kind: 'look' })).balance
  const wait = (ms: number): void => {
    nowMs += ms
  }
  return { scene, limiter, asked, rows, left, wait }
}

describe('rules with a meter, on PostgreSQL', { timeout: 120_000 }, () => {
  it('a caller who reserves and never commits holds its own account, until its holds are over', async () => {
    const { scene, limiter, rows, left, wait } = await start()
    const all = await Promise.all(Array.from({ length: 500 }, () => limiter.reserve(ask('greedy'))))
    expect(all.filter(({ decision }) => decision.allowed)).toHaveLength(100)
    expect(await rows('ledger_holds')).toBe(100)
    expect((await limiter.reserve(ask('other'))).decision.allowed).toBe(true)
    wait((HOLD_SECONDS + 1) * 1_000)
    expect([(await left('greedy'))?.available.allowance, (await left('other'))?.held]).toEqual([100, 0])
    expect(await rows('ledger_holds')).toBe(0)
    expect(await verifyLedger(scene.quotas.db)).toMatchObject({ ok: true })
  })

  it('a caller who makes up customers and keys asks no account, and makes none', async () => {
    const { limiter, asked, rows } = await start()
    for (let i = 0; i < 20_000; i++) {
      const { allowed } = await limiter.check(ask(`nobody-${i}`, i % 2 === 0 ? 'customer' : 'api_key'))
      if (allowed) expect.unreachable('a stranger passed')
    }
    expect([asked, await rows('ledger_accounts')]).toEqual([[], 0])
  })

  it('a caller without budget asks the database once a second, although its limit gets its charges back', async () => {
    const { limiter, asked, rows, wait } = await start()
    const big = { ...ask('greedy'), cost: 101 }
    for (let i = 0; i < 20_000; i++) expect((await limiter.check(big)).allowed).toBe(false)
    expect(asked).toEqual(['event'])
    wait(1_000)
    expect((await limiter.check(big)).allowed).toBe(false)
    expect(asked).toEqual(['event', 'event'])
    expect(await rows('ledger_holds')).toBe(0)
    expect((await limiter.check(ask('greedy'))).allowed).toBe(true)
  })
})
