/**
 * Opens the engine of a store in a process of its own, as the built library has it.
 * @param {string} kind
 * @param {string} address
 * @param {string} part a table, or what names begin with
 */
export async function openEngine(kind, address, part) {
  return OPEN[kind](address, part)
}

const OPEN = {
  async postgres(address, table) {
    const { default: pg } = await import('pg')
    const { runSqlOf, tableOf } = await import('../../dist/stores/postgres/postgres-client.js')
    const { PostgresEngine } = await import('../../dist/stores/postgres/postgres-engine.js')
    const pool = new pg.Pool({ connectionString: address, max: 4 })
    const engine = new PostgresEngine({ run: runSqlOf(pool), name: 'postgres', table: tableOf(table), isLogged: false })
    return { engine, close: () => pool.end() }
  },
}
