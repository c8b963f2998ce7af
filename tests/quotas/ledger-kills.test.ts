import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { customer, meter, OWNER } from '../../server/src/ledger/ledger.suite.ts'
import { verifyLedger } from '../../server/src/ledger/verify-ledger.ts'
import { openQuotas } from '../../server/src/quotas/open/open-quotas.ts'
import { ENV } from '../cli/sluice-process.suite.ts'
import { Random } from '../fuzz/random.ts'
import { NEW_SEEDS } from '../seeds/seeds.ts'
import { startPostgres } from '../servers/postgres.mjs'
import { until } from '../servers/until.mjs'

const run = promisify(execFile)
const SLUICE = fileURLToPath(new URL('../../server/bin/sluice.mjs', import.meta.url))
const WRITER = fileURLToPath(new URL('./ledger-writer.mjs', import.meta.url))
const SEEDS = [1, ...NEW_SEEDS]
const WRITERS = 4
const KILLS = 8
const ALLOWANCE = 4_000
const OVERDRAFT = 100
const LONG_MS = 240_000

interface Writer {
  readonly child: ChildProcess
  isOver: boolean
}

/** Writers are processes with a ledger each, as nodes are, and sixteen callers each. */
class Writers {
  readonly lines: string[] = []
  readonly #url: string
  readonly #random: Random
  readonly #writers: Writer[] = []
  #started = 0

  constructor(url: string, random: Random) {
    this.#url = url
    this.#random = random
  }

  start(): void {
    const name = `w${this.#started++}`
    const args = [WRITER, this.#url, name, String(this.#random.below(2 ** 31))]
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    const writer = { child, isOver: false }
    child.once('exit', () => {
      writer.isOver = true
    })
    child.stdin!.on('error', () => {})
    let rest = ''
    child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      const parts = (rest + text).split('\n')
      rest = parts.pop() ?? ''
      this.lines.push(...parts)
    })
    this.#writers.push(writer)
  }

  async killOne(): Promise<void> {
    const living = this.#writers.filter(({ isOver }) => !isOver)
    const { child } = this.#random.pick(living)
    child.kill('SIGKILL')
    await once(child, 'close')
  }

  /** Lets those that live finish what they began. */
  async end(): Promise<void> {
    const living = this.#writers.filter(({ isOver }) => !isOver)
    for (const { child } of living) child.stdin!.end()
    await Promise.all(living.map(({ child }) => once(child, 'close')))
    expect(living.map(({ child }) => child.exitCode)).toEqual(living.map(() => 0))
  }
}

it.each(SEEDS)(
  'keeps exact books while writers and the database are killed, seed %i',
  { timeout: LONG_MS },
  async (seed) => {
    const random = new Random(seed)
    const postgres = await startPostgres()
    onTestFinished(() => postgres.stop())
    const url = postgres.url(await postgres.createDatabase())
    const quotas = await openQuotas({ url })
    onTestFinished(() => quotas.close())
    const { store } = quotas
    await store.put(
      'meters',
      meter('exports', { allowance: ALLOWANCE, allowances: { lent: 1_000 }, overdraft: OVERDRAFT }),
      OWNER,
    )
    for (const id of ['hot', 'warm']) await store.put('customers', customer(id), OWNER)
    await store.put('customers', customer('lent', { tier: 'lent' }), OWNER)

    const writers = new Writers(url, random)
    for (let n = 0; n < WRITERS; n++) writers.start()
    for (let kill = 0; kill < KILLS; kill++) {
      const wanted = writers.lines.length + 50 + random.below(300)
      await until(`${wanted} answers came`, () => writers.lines.length >= wanted, 60_000)
      if (random.chance(0.5)) {
        await writers.killOne()
        writers.start()
      } else {
        await postgres.kill()
        await postgres.restart()
      }
    }
    await writers.end()

    const report = await until('the database answers', () => verifyLedger(quotas.db), 30_000)
    expect(report).toMatchObject({ ok: true, sum: 0, problems: [], accounts: 3 })
    const verified = await run(process.execPath, [SLUICE, 'ledger', 'verify', '--database', url], { env: ENV })
    expect(verified.stdout).toBe(
      `the ledger is whole: ${report.entries} entries of 3 accounts, and all accounts sum to zero\n`,
    )
    const booked = await quotas.db.query<{ customer: string; id: string; kind: string; amount: number }>(
      `SELECT a.customer_id AS customer, e.id, min(e.kind) AS kind, sum(e.amount)::int8 AS amount
     FROM sluice.ledger_entries e JOIN sluice.ledger_accounts a ON a.id = e.account_id WHERE e.id IS NOT NULL GROUP BY 1, 2`,
    )
    const held = await quotas.db.query<{ id: string }>('SELECT id FROM sluice.ledger_holds')
    const usedOf = new Map(booked.map(({ customer: of, id, amount }) => [`${of} ${id}`, amount]))
    const known = new Set([...booked.map(({ id }) => id), ...held.map(({ id }) => id)])
    for (const line of writers.lines) {
      const [what, of, id, amount] = line.split(' ')
      // What was confirmed is there, once.
      if (what === 'used') expect(usedOf.get(`${of} ${id}`), line).toBe(Number(amount))
      else if (what === 'released') expect(usedOf.get(`${of} ${id}`), line).toBe(0)
      else expect([what, known.has(id)], line).toEqual(['reserved', true])
    }
    const rows = await quotas.db.query<{
      customer: string
      used: number
      unpaid: number
      debt: number
      issued: number
    }>('SELECT customer_id AS customer, used, unpaid, debt, issued FROM sluice.ledger_accounts')
    for (const { used, unpaid, debt, issued } of rows) {
      expect(used - unpaid).toBeLessThanOrEqual(issued + OVERDRAFT)
      expect(debt).toBeLessThanOrEqual(OVERDRAFT)
    }
  },
)
