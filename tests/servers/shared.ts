import { inject } from 'vitest'
import { ClusterView } from './cluster.mjs'
import type { SharedServers } from './global-setup.ts'
import { PostgresEndpoint } from './postgres.mjs'
import { type RedisAddress, RedisEndpoint } from './redis.mjs'
import { SentinelView } from './sentinel.mjs'

// One of each for all test files, which run at the same time: use keys of your own (with a random prefix), flush
// nothing, and start a server of your own to see it fail.

async function ask<Kind extends keyof SharedServers>(kind: Kind): Promise<SharedServers[Kind]> {
  const response = await fetch(`${inject('sharedServersUrl')}/${kind}`)
  if (!response.ok) throw new Error(await response.text())
  return (await response.json()) as SharedServers[Kind]
}

const toEndpoint = (address: RedisAddress) => new RedisEndpoint(address)

/** Returns the Redis of the test run, and starts it if this is the first to ask. */
export async function sharedRedis(): Promise<RedisEndpoint> {
  return toEndpoint(await ask('redis'))
}

/** Returns the Redis Cluster of the test run: three masters, each with a replica. */
export async function sharedCluster(): Promise<ClusterView> {
  return new ClusterView((await ask('cluster')).map(toEndpoint))
}

/** Returns the Sentinels of the test run: three, with a master and a replica. */
export async function sharedSentinel(): Promise<SentinelView> {
  const { name, sentinels, nodes } = await ask('sentinel')
  return new SentinelView({ name, sentinels: sentinels.map(toEndpoint), nodes: nodes.map(toEndpoint) })
}

/** Returns the PostgreSQL of the test run. Make a database of your own in it: `createDatabase()`. */
export async function sharedPostgres(): Promise<PostgresEndpoint> {
  return new PostgresEndpoint(await ask('postgres'))
}

/** Returns a data directory with an empty PGlite database: to copy, not to open. */
export function sharedPglite(): Promise<SharedServers['pglite']> {
  return ask('pglite')
}

/** Returns the packages of this repository as they are published: to copy, not to change. */
export function sharedPackages(): Promise<SharedServers['packages']> {
  return ask('packages')
}
