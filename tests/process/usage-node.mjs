// A node without workers that keeps usage in a database. Its only customer is acme, with ten requests a day.
// Usage: node usage-node.mjs DATABASE_URL FLAGS…; it sends { address } when it serves, and { log } for each entry of its log.
import { loadRules } from 'sluice/internal/core/rules/load'
import { openDoors } from '../../server/dist/app/doors/doors.js'
import { logTo } from '../../server/dist/app/log/log.js'
import { readConfig } from '../../server/dist/app/settings/config.js'
import { openUsage } from '../../server/dist/app/usage/open-usage.js'
import { QuotaBook } from '../../server/dist/quotas/book/quota-book.js'
import { openQuotas } from '../../server/dist/quotas/open/open-quotas.js'

const RULES = 'domain: api\ndescriptors: [{key: customer, rate_limit: {unit: day, requests_per_unit: 10}}]'
const [url, ...flags] = process.argv.slice(2)
const config = readConfig(flags, {})
const log = logTo(({ event }) => process.send({ log: event }))
const rules = loadRules([{ file: 'api.yaml', text: RULES }])
const quotas = await openQuotas({ url }, { secret: 'of the installation' })
const book = new QuotaBook({ hash: (key) => quotas.apiKeys.hash(key) })
book.put('customers', 'acme', { id: 'acme', status: 'active', timeZone: 'UTC' })
const usage = openUsage({ quotas, config, log })
const doors = openDoors(config, () => rules, log, {
  quotas: () => book,
  usage: async (news) => usage.take(news, doors),
})
await doors.ready
process.on('message', async ({ stop }) => {
  if (!stop) return
  await doors.close()
  await usage.close()
  await quotas.close()
  process.exit(0)
})
process.on('disconnect', () => process.exit(1))
process.send({ address: await doors.all.http.listen({ host: '127.0.0.1', port: 0 }) })
