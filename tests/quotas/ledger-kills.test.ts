import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { customer, meter, OWNER } from '../../server/src/ledger/ledger.suite.ts'
import { openQuotas, type Quotas } from '../../server/src/quotas/open/open-quotas.ts'
import { kill, run, type Started, startWith } from '../cli/sluice-process.suite.ts'
import { Random } from '../fuzz/random.ts'
import { NEW_SEEDS } from '../seeds/seeds.ts'
import { type PostgresServer, startPostgres } from '../servers/postgres.mjs'
import { until } from '../servers/until.mjs'

// Four processes of sixteen callers each write at the doors of two services on one PostgreSQL. Writers, services and the
// database are killed at moments that the seed chooses; SLUICE_KILLS=200 kills that often.

const WRITER = fileURLToPath(new URL('./ledger-writer.mjs', import.meta.url))
const SEEDS = [1, ...NEW_SEEDS]
const KILLS = Number(process.env.SLUICE_KILLS ?? 6)
const WRITERS = 4
const SERVICES = 2
const ALLOWANCE = 4_000
const OVERDRAFT = 100
const TOKEN = 'the-token-of-the-writers'
const LONG_MS = 240_000 + KILLS * 30_000

interface Writer {
  readonly child: ChildProcess
  isOver: boolean
}

/** Everything that can be killed. */
class Scene {
  readonly lines: string[] = []
  readonly services: Started[] = []
  readonly #writers: Writer[] = []
  readonly #postgres: PostgresServer
  readonly #url: string
  readonly #random: Random
  #started = 0

  constructor(postgres: PostgresServer, url: string, random: Random) {
    this.#postgres = postgres
    this.#url = url
    this.#random = random
  }

  async startService(): Promise<void> {
    const env = { SLUICE_ADMIN_TOKEN: `ledger:${TOKEN}` }
    this.services.push(await startWith(env, '--database', this.#url))
    for (const { child, isOver } of this.#writers) if (!isOver) this.#tell(child)
  }

  startWriter(): void {
    const args = [WRITER, `w${this.#started++}`, String(this.#random.below(2 ** 31)), TOKEN]
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
    this.#tell(child)
  }

  #tell(writer: ChildProcess): void {
    writer.stdin!.write(`${this.services.map(({ admin }) => admin).join(' ')}\n`)
  }

  async killWriter(): Promise<void> {
    const { child } = this.#random.pick(this.#writers.filter(({ isOver }) => !isOver))
    child.kill('SIGKILL')
    await once(child, 'close')
    this.startWriter()
  }

  async killService(): Promise<void> {
    const at = this.#random.below(this.services.length)
    const [old] = this.services.splice(at, 1)
    await kill(old.child)
    await this.startService()
  }

  async killDatabase(): Promise<void> {
    await this.#postgres.crash()
    // A service may die before the database has recovered, too.
    if (this.#random.chance(0.3)) await kill(this.services.splice(0, 1)[0].child)
    await this.#postgres.restart()
    if (this.services.length < SERVICES) await this.startService()
  }

  /** Lets those that live finish what they began. */
  async end(): Promise<void> {
    const living = this.#writers.filter(({ isOver }) => !isOver)
    for (const { child } of living) child.stdin!.end()
    await Promise.all(living.map(({ child }) => (child.exitCode === null ? once(child, 'close') : undefined)))
    expect(living.map(({ child }) => child.exitCode)).toEqual(Array.from({ length: WRITERS }, () => 0))
  }

  verify(): void {
    const { stdout, stderr } = run(['ledger', 'verify', '--database', this.#url])
    expect(stdout, stderr).toMatch(/^the ledger is whole: \d+ entries of 3 accounts, and all accounts sum to zero\n$/)
  }
}

async function prepare(url: string): Promise<Quotas> {
  const quotas = await openQuotas({ url })
  onTestFinished(() => quotas.close())
  const { store } = quotas
  const exports = meter('exports', { allowance: ALLOWANCE, allowances: { lent: 1_000 }, overdraft: OVERDRAFT })
  await store.put('meters', exports, OWNER)
  for (const id of ['hot', 'warm']) await store.put('customers', customer(id), OWNER)
  await store.put('customers', customer('lent', { tier: 'lent' }), OWNER)
  return quotas
}

/** What was confirmed is there, once. */
async function checkConfirmed(quotas: Quotas, lines: readonly string[]): Promise<void> {
  const booked = await quotas.db.query<{ customer: string; id: string; amount: number }>(
    `SELECT a.customer_id AS customer, e.id, sum(e.amount)::int8 AS amount FROM sluice.ledger_entries e
     JOIN sluice.ledger_accounts a ON a.id = e.account_id WHERE e.id IS NOT NULL GROUP BY 1, 2`,
  )
  const held = await quotas.db.query<{ id: string }>('SELECT id FROM sluice.ledger_holds')
  const usedOf = new Map(booked.map(({ customer: of, id, amount }) => [`${of} ${id}`, amount]))
  const known = new Set([...booked.map(({ id }) => id), ...held.map(({ id }) => id)])
  for (const line of lines) {
    const [what, of, id, amount] = line.split(' ')
    if (what === 'used') expect(usedOf.get(`${of} ${id}`), line).toBe(Number(amount))
    else if (what === 'released') expect(usedOf.get(`${of} ${id}`), line).toBe(0)
    else expect([what, known.has(id)], line).toEqual(['reserved', true])
  }
}

async function checkBounds({ db }: Quotas): Promise<void> {
  const rows = await db.query<{ used: number; unpaid: number; debt: number; issued: number }>(
    'SELECT used, unpaid, debt, issued FROM sluice.ledger_accounts',
  )
  for (const { used, unpaid, debt, issued } of rows) {
    expect(used - unpaid).toBeLessThanOrEqual(issued + OVERDRAFT)
    expect(debt).toBeLessThanOrEqual(OVERDRAFT)
  }
}

it.each(SEEDS)(
  'keeps exact books while writers, services and the database are killed, seed %i',
  { timeout: LONG_MS },
  async (seed) => {
    const random = new Random(seed)
    const postgres = await startPostgres()
    onTestFinished(() => postgres.stop())
    const url = postgres.url(await postgres.createDatabase())
    const quotas = await prepare(url)
    const scene = new Scene(postgres, url, random)
    for (let n = 0; n < SERVICES; n++) await scene.startService()
    for (let n = 0; n < WRITERS; n++) scene.startWriter()
    const kinds = [() => scene.killWriter(), () => scene.killService(), () => scene.killDatabase()]
    for (let n = 0; n < KILLS; n++) {
      const wanted = scene.lines.length + 50 + random.below(300)
      await until(`${wanted} answers came`, () => scene.lines.length >= wanted, 120_000)
      // Each kind comes, in an order of the seed.
      await (n < kinds.length ? kinds[(n + seed) % kinds.length] : random.pick(kinds))()
      scene.verify()
    }
    await scene.end()
    scene.verify()
    await checkConfirmed(quotas, scene.lines)
    await checkBounds(quotas)
  },
)
