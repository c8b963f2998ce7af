/** Calls of a test are slow on a busy machine; no claim is about time. */
const TIMEOUT_MS = 120_000

/**
 * Opens a store in a process of its own, as the built library has it.
 * @param {string} kind
 * @param {string} address
 * @param {string} part a table, or what is before the address in names
 */
export function openStore(kind, address, part) {
  return OPEN[kind](address, part)
}

const OPEN = {
  async postgres(address, table) {
    const { default: pg } = await import('pg')
    const { runSqlOf, tableOf } = await import('../../dist/stores/postgres/postgres-client.js')
    const { PostgresEngine } = await import('../../dist/stores/postgres/postgres-engine.js')
    const pool = new pg.Pool({ connectionString: address, max: 4 })
    const engine = new PostgresEngine({ run: runSqlOf(pool), name: 'postgres', table: tableOf(table), isLogged: false })
    return { store: await casStore(engine), close: () => pool.end() }
  },

  async memcached(address) {
    const { memcachedPlace } = await import('../../dist/stores/memcached/memcached-place.js')
    return { store: await casStore(memcachedPlace(address, {}).makeEngine()), close: async () => {} }
  },

  async 'redis over HTTP'(address) {
    const { HttpRedisClient } = await import('../../dist/stores/redis-http/http-client.js')
    const { RedisStore } = await import('../../dist/stores/redis/redis-store.js')
    const client = new HttpRedisClient({ url: address, token: 'token' })
    return { store: new RedisStore({ url: client, timeoutMs: TIMEOUT_MS }), close: async () => {} }
  },
}

async function casStore(engine) {
  const { CasStore } = await import('../../dist/stores/cas/cas-store.js')
  return new CasStore(engine, { timeoutMs: TIMEOUT_MS })
}
