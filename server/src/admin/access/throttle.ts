import { SluiceError } from 'sluice/internal/core/errors'
import { ipKey } from 'sluice/internal/core/identity/ip-key'
import { compileLimit } from 'sluice/internal/core/limit'
import type { SyncStore } from 'sluice/internal/engine/ports'
import type { Role } from '../tokens/table.ts'

/** Generous for people and their dashboards, and for scripts; too little to wear the database down. */
const LIMITS = {
  address: compileLimit({ limit: 3_000, window: '1m', algorithm: 'token_bucket', burst: 600 }),
  token: compileLimit({ limit: 3_000, window: '1m', algorithm: 'token_bucket', burst: 600 }),
  // Programs ask the ledger at every request of theirs, and batch what is more.
  ledger: compileLimit({ limit: 300_000, window: '1m', algorithm: 'token_bucket', burst: 10_000 }),
  failure: compileLimit({ limit: 10, window: '1m', algorithm: 'token_bucket', burst: 10 }),
  // Customers may all come through one gateway, and so from one address.
  own_address: compileLimit({ limit: 3_000, window: '1m', algorithm: 'token_bucket', burst: 600 }),
  own_key: compileLimit({ limit: 60, window: '1m', algorithm: 'token_bucket', burst: 20 }),
} as const

/** Throttled is the refusal, with the seconds to wait. */
export class Throttled extends SluiceError {
  readonly retryAfterSeconds: number

  constructor(what: string, retryAfterMs: number) {
    super('ADMIN_RATE_LIMITED', what, 'too many')
    this.retryAfterSeconds = Math.max(1, Math.ceil(retryAfterMs / 1000))
  }
}

/** Throttle limits the admin API itself, in the memory of this process, with the limiter's own store. */
export class Throttle {
  readonly #store: Pick<SyncStore, 'decideOne'>

  constructor(store: Pick<SyncStore, 'decideOne'>) {
    this.#store = store
  }

  /** request counts a request of an address, and throws when there are too many. */
  request(address: string | undefined): void {
    this.#charge('address', addressKey(address), 'requests of this address')
  }

  token(id: string, role?: Role): void {
    this.#charge(role === 'ledger' ? 'ledger' : 'token', id, 'requests of this token')
  }

  /** ownUsage counts a customer who asks for their usage, by address and by key, whether anybody has that key or not. */
  ownUsage(address: string | undefined, apiKey: string): void {
    this.#charge('own_address', addressKey(address), 'requests of this address')
    this.#charge('own_key', apiKey, 'requests with this key')
  }

  /** Counts a wrong token, and throws when an address has sent too many of them. */
  failed(address: string | undefined): void {
    this.#charge('failure', addressKey(address), 'failed logins of this address')
  }

  #charge(kind: keyof typeof LIMITS, key: string, what: string, cost = 1): void {
    const verdict = this.#store.decideOne(`${kind}:${key}`, LIMITS[kind], cost)
    if (!verdict.allowed) throw new Throttled(what, verdict.kind === 'refused' ? verdict.retryAfterMs : 60_000)
  }
}

function addressKey(address: string | undefined): string {
  return ipKey(address ?? '') ?? 'none'
}
