import { SluiceError } from 'sluice/internal/core/errors'
import type { AdminToken } from '../../admin/tokens/table.ts'

/** How long a token is good while it cannot be checked whether it was revoked. */
const GOOD_FOR_MS = 600_000
const MOST = 1_000

/**
 * Remembers tokens that were found, so that operators who were just signed in stay so while the database is
 * unavailable.
 */
export class KnownTokens {
  readonly #now: () => number
  readonly #known = new Map<string, { readonly token: AdminToken; readonly atMs: number }>()

  constructor(now: () => number) {
    this.#now = now
  }

  /** Asks the database, and answers from memory when it is unavailable. */
  async through(name: string, ask: () => Promise<AdminToken | undefined>): Promise<AdminToken | undefined> {
    try {
      const token = await ask()
      this.#known.delete(name)
      if (token !== undefined) this.#keep(name, token)
      return token
    } catch (error) {
      if (!(error instanceof SluiceError) || error.code !== 'DATABASE_UNAVAILABLE') throw error
      const known = this.#known.get(name)
      if (known === undefined || this.#now() - known.atMs > GOOD_FOR_MS) throw error
      return known.token
    }
  }

  clear(): void {
    this.#known.clear()
  }

  /** The one that was seen longest ago makes room. */
  #keep(name: string, token: AdminToken): void {
    this.#known.set(name, { token, atMs: this.#now() })
    if (this.#known.size > MOST) this.#known.delete(this.#known.keys().next().value as string)
  }
}
