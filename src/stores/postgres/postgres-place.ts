import { checkOptions } from '../../core/check-options.ts'
import { BOOLEAN, type FormsOf, TEXT, whole } from '../../core/option-forms.ts'
import type { CasPlace } from '../open/open-cas.ts'
import { type PostgresClient, runSqlOf, tableOf } from './postgres-client.ts'
import { PostgresEngine } from './postgres-engine.ts'

/** How counters are kept in PostgreSQL. */
export interface PostgresOptions {
  /** The table, with its schema if it is not the first of the search path. It is made when it is missing. Default: `sluice_counters`. */
  readonly table?: string
  /**
   * True: counters survive a crash of the server, and are on its standbys; each write goes through the log of the
   * server. Default: false, an unlogged table, which is empty after a crash or a failover. It is for making the table.
   */
  readonly logged?: boolean
  /** How long PostgreSQL may take where a limit or a rule does not say. Default: 10 to 250, by how fast its answers were. */
  readonly timeoutMs?: number
  /** What metrics and logs call it. Default: `postgres`. */
  readonly name?: string
}

export const POSTGRES_FORMS: FormsOf<PostgresOptions> = {
  table: TEXT,
  logged: BOOLEAN,
  timeoutMs: /* @__PURE__ */ whole(1, 60_000),
  name: TEXT,
}

const DEADLINES = { leastMs: 10, mostMs: 250 }

/** Returns the place that a client of the app and these options name. */
export function postgresPlace(client: PostgresClient, options: PostgresOptions): CasPlace {
  checkOptions(options, POSTGRES_FORMS)
  const { table = 'sluice_counters', logged = false, timeoutMs, name = 'postgres' } = options
  const engine = { run: runSqlOf(client), table: tableOf(table), isLogged: logged, name }
  return {
    identity: client,
    variant: table,
    name: 'in PostgreSQL',
    timeoutMs,
    deadlines: DEADLINES,
    makeEngine: () => new PostgresEngine(engine),
  }
}
