import type { Database } from '../ports.ts'
import { PgliteDatabase } from './pglite-database.ts'
import { openPostgres } from './postgres-database.ts'

/** Where quotas are kept: a PostgreSQL by its address, or else PGlite in a directory. */
export type DatabasePlace =
  | { readonly url: string; readonly listenUrl?: string | undefined }
  | { readonly dataDir: string }

/** openDatabase makes a database without asking it anything: nothing fails but an address that is none. */
export async function openDatabase(place: DatabasePlace): Promise<Database> {
  return 'url' in place ? openPostgres(place) : new PgliteDatabase(place)
}
