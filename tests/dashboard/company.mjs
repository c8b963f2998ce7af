// @ts-check
import { randomBytes } from 'node:crypto'
import { startPostgres } from '../servers/postgres.mjs'
import { startRedis } from '../servers/redis.mjs'
import { FILE_RULES } from './rules.mjs'
import { seed, seedPast } from './seed.mjs'
import { Stand, TOKENS } from './stand.mjs'

/**
 * Starts a Redis, a PostgreSQL and nodes of their own, with a company's customers in them. All of it ends with this
 * process.
 * @param {{ nodes?: number, workers?: number }} [size]
 */
export async function startCompany({ nodes = 1, workers = 1 } = {}) {
  const [redis, postgres] = await Promise.all([startRedis(), startPostgres()])
  const database = await postgres.createDatabase()
  const stand = new Stand({
    redisUrl: redis.url,
    databaseUrl: postgres.url(database),
    keyPrefix: `dashboard-${randomBytes(4).toString('hex')}:`,
    rules: { 'edge.yaml': FILE_RULES },
    workers,
  })
  for (let i = 0; i < nodes; i++) await stand.start()
  const tokens = await seed(stand.askAs(TOKENS.admin), (token) => stand.askAs(token))
  await seedPast((sql, values) => postgres.run(sql, { database, values }))
  return {
    stand,
    tokens,
    async stop() {
      await stand.stop()
      await Promise.all([redis.stop(), postgres.stop()])
    },
  }
}
