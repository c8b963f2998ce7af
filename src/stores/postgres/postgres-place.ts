import { checkOptions } from '../../core/check-options.ts'
import { BOOLEAN, type FormsOf, TEXT, whole } from '../../core/option-forms.ts'
import type { CasPlace } from '../open/open-cas.ts'
import { type PostgresClient, runSqlOf, tableOf } from './postgres-client.ts'
import { PostgresEngine } from './postgres-engine.ts'
import type { PostgresOptions } from './postgres-options.ts'

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
