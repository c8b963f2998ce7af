import { expect, it, onTestFinished } from 'vitest'
import { customer, meter, OWNER } from '../../server/src/ledger/ledger.suite.ts'
import { openQuotas } from '../../server/src/quotas/open/open-quotas.ts'
import { RuleDirectory } from '../../src/sources/rule-directory.suite.ts'
import { run, startWith } from '../cli/sluice-process.suite.ts'
import { sharedPostgres } from '../servers/shared.ts'
import { until } from '../servers/until.mjs'

const LONG_MS = 240_000
const ADMIN = 'the-token-of-an-operator'
const RULES = `
domain: paid
descriptors:
  - key: customer
    rate_limit: {name: exports, unit: minute, requests_per_unit: 1000, ledger: exports}
  - key: pages
    descriptors:
      - {key: customer, rate_limit: {unlimited: true, ledger: {meter: pages, amount: 3}}}
`

it('the ledger agrees with usage, until one of them is changed, and says so as often as it is asked', {
  timeout: LONG_MS,
}, async () => {
  const postgres = await sharedPostgres()
  const database = await postgres.createDatabase()
  const url = postgres.url(database)
  const quotas = await openQuotas({ url })
  onTestFinished(() => quotas.close())
  for (const id of ['exports', 'pages']) await quotas.store.put('meters', meter(id, { allowance: 20 }), OWNER)
  for (const id of ['acme', 'other']) await quotas.store.put('customers', customer(id), OWNER)
  const rules = new RuleDirectory({ 'paid.yaml': RULES })
  const env = { SLUICE_ADMIN_TOKEN: ADMIN }
  const service = await startWith(env, '--database', url, '--rules', rules.path)
  const check = async (entries: readonly (readonly [string, string])[], cost: number): Promise<number> => {
    const descriptors = [{ entries: entries.map(([key, value]) => ({ key, value })) }]
    const body = JSON.stringify({ domain: 'paid', descriptors, cost })
    const headers = { 'content-type': 'application/json' }
    return (await fetch(`${service.url}/v1/check`, { method: 'POST', body, headers })).status
  }
  const reconcile = () => run(['ledger', 'reconcile', '--admin', service.admin, '--token', ADMIN])

  expect(await check([['customer', 'acme']], 5)).toBe(200)
  expect(await check([['customer', 'acme']], 16)).toBe(402)
  expect(await check([['customer', 'other']], 2)).toBe(200)
  for (let i = 0; i < 2; i++)
    expect(
      await check(
        [
          ['pages', 'x'],
          ['customer', 'acme'],
        ],
        1,
      ),
    ).toBe(200)
  // What is booked at the doors is no hit of a rule.
  const headers = { authorization: `Bearer ${ADMIN}`, 'content-type': 'application/json' }
  const events = JSON.stringify({ events: [{ customer: 'acme', meter: 'exports', id: 'e1', amount: 4 }] })
  expect((await fetch(`${service.admin}/v1/ledger/events`, { method: 'POST', headers, body: events })).status).toBe(200)

  const whole = await until('usage is written', () => {
    const { stdout } = reconcile()
    return stdout === '3 periods compared; drift by meter: exports 0, pages 0\n'
  })
  expect(whole).toBe(true)
  await postgres.run('UPDATE sluice.usage_hourly SET cost = cost + 7 WHERE customer_id = $1', {
    database,
    values: ['other'],
  })
  for (let i = 0; i < 2; i++) {
    expect(reconcile().stdout).toMatch(
      /^other exports \S+ to \S+: booked 2, used 9, drift -7\n3 periods compared; drift by meter: exports 7, pages 0\n$/,
    )
  }
  const metrics = await (await fetch(`${service.admin}/metrics`, { headers })).text()
  expect(metrics).toMatch(/ratelimit_ledger_drift\{meter="exports"[^}]*\} 7\n/)
  expect(run(['ledger', 'reconcile', '--database', url]).stderr).toContain('LEDGER_RULES_UNKNOWN')
})
