import { createHmac, randomBytes } from 'node:crypto'
import { SluiceError } from 'sluice/internal/core/errors'
import type { Database } from '../database/database.ts'

/**
 * Derives keys from one secret, which is the same on all nodes: SLUICE_SECRET or, where that is not set, a random one
 * in the database, which is known once that was opened. Each purpose has a separate key.
 */
export class SecretKeys {
  #secret: string | undefined

  constructor(secret?: string | undefined) {
    this.#secret = secret
  }

  keyFor(purpose: string): Buffer {
    if (this.#secret === undefined) throw new SluiceError('DATABASE_UNAVAILABLE', 'secret', 'it was not read yet')
    return createHmac('sha256', this.#secret).update(`sluice ${purpose}`).digest()
  }

  /**
   * Finds the secret. It throws SECRET_CHANGED when it is not the one that the database was first used with: otherwise
   * no API key would be found any more, for no visible reason.
   */
  async open(db: Database): Promise<void> {
    this.#secret = await secretIn(db, this.#secret)
  }
}

async function secretIn(db: Database, given: string | undefined): Promise<string> {
  return db.transaction(async (tx) => {
    const keep = async (name: string, value: string): Promise<string> => {
      await tx.query('INSERT INTO sluice.meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING', [
        name,
        value,
      ])
      const [row] = await tx.query<{ value: string }>('SELECT value FROM sluice.meta WHERE name = $1', [name])
      return row.value
    }
    const secret = given ?? (await keep('secret', randomBytes(32).toString('hex')))
    const mark = new SecretKeys(secret).keyFor('mark of the secret').toString('hex')
    if ((await keep('secret_mark', mark)) !== mark) {
      throw new SluiceError('SECRET_CHANGED', 'secret', 'it is not the one that this database was first used with')
    }
    return secret
  })
}
