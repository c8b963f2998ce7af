import { join, resolve } from 'node:path'
import type { DatabasePlace } from '../../quotas/database/open-database.ts'
import { postgresAddress } from '../../quotas/database/postgres-address.ts'
import type { SettingSources } from './setting-sources.ts'

/** What the file is called in a data directory. */
const FIRST_TOKEN_FILE = 'first-token'

/**
 * Returns where quotas are kept: a database by its address, or else the data directory. Errors do not show an address.
 */
export function databaseOf(from: SettingSources): DatabasePlace | undefined {
  const [url, listenUrl, dataDir] = [from.value('database'), from.value('database-listen'), dataDirOf(from)]
  if (url === undefined) return dataDir === undefined ? undefined : { dataDir }
  for (const address of [url, listenUrl]) if (address !== undefined) postgresAddress(address)
  return { url, listenUrl }
}

/** Returns the file for the first token of the admin API: in the data directory, unless another is named. */
export function firstTokenFileOf(from: SettingSources): string | undefined {
  const [file, dataDir] = [from.value('first-token-file'), dataDirOf(from)]
  if (file !== undefined) return resolve(file)
  return dataDir === undefined ? undefined : join(dataDir, FIRST_TOKEN_FILE)
}

export function dataDirOf(from: SettingSources): string | undefined {
  const given = from.value('data')
  return given === undefined ? undefined : resolve(given)
}
