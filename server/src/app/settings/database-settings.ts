import { resolve } from 'node:path'
import type { DatabasePlace } from '../../quotas/database/open-database.ts'
import { postgresAddress } from '../../quotas/database/postgres-address.ts'
import type { SettingSources } from './setting-sources.ts'

/** databaseOf is where quotas are kept: a database by its address, or else the data directory. Errors do not show an address. */
export function databaseOf(from: SettingSources): DatabasePlace | undefined {
  const [url, listenUrl, dataDir] = [from.value('database'), from.value('database-listen'), dataDirOf(from)]
  if (url === undefined) return dataDir === undefined ? undefined : { dataDir }
  for (const address of [url, listenUrl]) if (address !== undefined) postgresAddress(address)
  return { url, listenUrl }
}

export function dataDirOf(from: SettingSources): string | undefined {
  const given = from.value('data')
  return given === undefined ? undefined : resolve(given)
}
