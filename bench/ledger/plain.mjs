import pg from 'pg'

/** How most would write it: a transaction of its own for each request, on a pool, with the balance in a row. */
export class PlainLedger {
  #pool
  #next = 1

  constructor(url, connections) {
    this.#pool = new pg.Pool({ connectionString: url, max: connections })
  }

  async prepare(accounts, balance) {
    await this.#pool.query(`
      DROP SCHEMA IF EXISTS plain CASCADE;
      CREATE SCHEMA plain;
      CREATE TABLE plain.accounts (id int PRIMARY KEY, balance bigint NOT NULL, held bigint NOT NULL) WITH (fillfactor = 50);
      CREATE TABLE plain.holds (id text PRIMARY KEY, account int NOT NULL, amount bigint NOT NULL);
      CREATE TABLE plain.entries (id text PRIMARY KEY, account int NOT NULL, amount bigint NOT NULL, at timestamptz NOT NULL)`)
    await this.#pool.query('INSERT INTO plain.accounts SELECT n, $2, 0 FROM generate_series(0, $1 - 1) AS n', [
      accounts,
      balance,
    ])
  }

  /** Reserves 2 of an account and commits 1. */
  async pair(account) {
    const id = `p${this.#next++}`
    await this.#transaction(async (client) => {
      const { rowCount } = await client.query(
        'UPDATE plain.accounts SET held = held + 2 WHERE id = $1 AND balance - held >= 2',
        [account],
      )
      if (rowCount === 0) throw new Error('refused')
      await client.query('INSERT INTO plain.holds VALUES ($1, $2, 2)', [id, account])
    })
    await this.#transaction(async (client) => {
      const { rowCount } = await client.query('DELETE FROM plain.holds WHERE id = $1', [id])
      if (rowCount === 0) throw new Error('lost')
      await client.query('UPDATE plain.accounts SET balance = balance - 1, held = held - 2 WHERE id = $1', [account])
      await client.query('INSERT INTO plain.entries VALUES ($1, $2, 1, now())', [id, account])
    })
  }

  async #transaction(work) {
    const client = await this.#pool.connect()
    try {
      await client.query('BEGIN')
      await work(client)
      await client.query('COMMIT')
    } catch (error) {
      await client.query('ROLLBACK').catch(() => {})
      throw error
    } finally {
      client.release()
    }
  }

  close() {
    return this.#pool.end()
  }
}
