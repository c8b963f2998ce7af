import { fileURLToPath } from 'node:url'
import type { Browser } from 'playwright-core'
import { expect } from 'vitest'
import { sharedPostgres, sharedRedis } from '../servers/shared.ts'
import { until } from '../servers/until.mjs'
import { openBrowser, Visit, type VisitOptions } from './browser.mjs'
import { BILLING_RULES, exact, FILE_RULES, productRules } from './rules.mjs'
import { type Ask, Stand, TOKENS } from './stand.mjs'

/** What a key may ask for in a day that no customer has. */
const WITHOUT_TIER = 30

/** What the window looked like when a test failed last. */
const PICTURE = fileURLToPath(new URL('../../node_modules/.cache/dashboard-failure.png', import.meta.url))

/** A Bench is one service and one browser for all tests of the dashboard. Each test has customers and windows of its own. */
export class Bench {
  readonly stand: Stand
  readonly browser: Browser
  readonly ask: Ask
  #customers = 0

  constructor(stand: Stand, browser: Browser) {
    this.stand = stand
    this.browser = browser
    this.ask = stand.askAs(TOKENS.admin)
  }

  static async start(): Promise<Bench> {
    const [redis, postgres] = await Promise.all([sharedRedis(), sharedPostgres()])
    const stand = new Stand({
      redisUrl: redis.url,
      databaseUrl: postgres.url(await postgres.createDatabase()),
      keyPrefix: `dashboard-${crypto.randomUUID()}:`,
      rules: { 'edge.yaml': exact(FILE_RULES), 'billing.yaml': BILLING_RULES },
    })
    const [browser] = await Promise.all([openBrowser(), stand.start()])
    const bench = new Bench(stand, browser)
    await bench.ask('PUT', 'rules/active', { text: exact(productRules()) }, { 'if-match': '*' })
    await bench.inForce()
    return bench
  }

  /** Resolves when the rules of the database are: a node that has just started decides by its files alone. */
  async inForce(): Promise<void> {
    await until('the rules are in force', async () => (await this.limitOf('a key of nobody')) > 0)
  }

  /** The limit of a key now; 0 is none. */
  async limitOf(key: string): Promise<number> {
    const { verdicts } = await this.stand.decide('parcels', { api_key: key }, 0)
    return verdicts[0]?.limit ?? 0
  }

  async stop(): Promise<void> {
    await this.browser.close()
    await this.stand.stop()
  }

  /** Opens a window that is logged in, and hands it to the work. The window may not complain of anything. */
  async visit(
    work: (visit: Visit) => Promise<void>,
    options: Partial<VisitOptions> & { role?: keyof typeof TOKENS | 'nobody' } = {},
  ): Promise<void> {
    const { role = 'admin', ...more } = options
    const token = role === 'nobody' ? {} : { token: TOKENS[role] }
    const visit = await Visit.open(this.browser, { base: this.stand.admin, ...token, ...more })
    try {
      await work(visit)
      expect(visit.complaints()).toEqual([])
    } catch (error) {
      await visit.page.screenshot({ path: PICTURE })
      throw new Error(`${visit.page.url()}, which ${PICTURE} shows`, { cause: error })
    } finally {
      await visit.close()
    }
  }

  /** Makes a customer of its own, with an API key. */
  async customer(fields: Record<string, unknown> = {}): Promise<{ id: string; name: string; key: string }> {
    const id = `customer-${++this.#customers}`
    const name = `Customer No. ${this.#customers}`
    const key = `pk_test_${crypto.randomUUID()}`
    const { tier = 'free', ...more } = fields
    // A key of nobody has the limit of a customer without a tier: that one gets it later.
    await this.ask('POST', 'customers', { id, name, tier: tier ?? 'free', ...more })
    await this.ask('POST', `customers/${id}/keys`, { key, name: 'production' })
    await until(`${id} is in force`, async () => (await this.limitOf(key)) !== WITHOUT_TIER)
    if (tier === null) {
      await this.ask('PATCH', `customers/${id}`, { tier }, { 'if-match': '*' })
      await until(`${id} has no tier`, async () => (await this.limitOf(key)) === WITHOUT_TIER)
    }
    return { id, name: typeof fields.name === 'string' ? fields.name : name, key }
  }

  /** Asks for decisions about a key: `+` was admitted, `-` over the limit, `B` blocked. */
  async checks(key: string, count = 1): Promise<string> {
    const said: Record<number, string> = { 200: '+', 429: '-', 403: 'B' }
    let text = ''
    for (let i = 0; i < count; i++) text += said[await this.stand.check('parcels', { api_key: key })] ?? '?'
    return text
  }
}
