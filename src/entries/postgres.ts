import { SharedRateLimiter } from '../library/shared-rate-limit.ts'
import { openAppCas } from '../stores/open/open-cas.ts'
import type { StorePlace } from '../stores/open/store-options.ts'
import type { PgClient, PostgresClient, PostgresJsClient } from '../stores/postgres/postgres-client.ts'
import type { PostgresOptions } from '../stores/postgres/postgres-options.ts'
import { postgresPlace } from '../stores/postgres/postgres-place.ts'

export { SluiceError } from '../core/errors.ts'
export type { PgClient, PostgresClient, PostgresJsClient, PostgresOptions, StorePlace }

const code: object = { openAppRedis: openAppCas, SharedRateLimiter }

/**
 * Names a PostgreSQL as the place where counters live, by a pool of the app: of `pg`, or what `postgres()` of the package
 * `postgres` returned.
 *
 *   const limiter = rateLimit({ limit: 100, window: '1m', store: postgres(pool) })
 */
export function postgres(client: PostgresClient, options: PostgresOptions = {}): StorePlace {
  return { place: postgresPlace(client, options), code }
}
