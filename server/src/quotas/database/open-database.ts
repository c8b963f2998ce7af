import { type OptionalPackage, requirePackage } from '../optional-package.ts'
import type { Database } from './database.ts'
import { PgliteDatabase } from './pglite-database.ts'
import { openPostgres } from './postgres-database.ts'

/** Where quotas are kept: a PostgreSQL by its address, or else PGlite in a directory. */
export type DatabasePlace =
  | { readonly url: string; readonly listenUrl?: string | undefined }
  | { readonly dataDir: string }

/** 27 MB that services with a PostgreSQL, or without quotas, do not need. */
const PGLITE_PACKAGE: OptionalPackage = {
  name: '@electric-sql/pglite',
  version: '0.5',
  setting: '--data',
  code: 'PGLITE_PACKAGE_MISSING',
}

/** Creates a database without connecting to it. Throws if an address cannot be read, or if PGlite is needed and is not installed. */
export async function openDatabase(place: DatabasePlace): Promise<Database> {
  if ('url' in place) return openPostgres(place)
  requirePackage(PGLITE_PACKAGE)
  return new PgliteDatabase(place)
}
