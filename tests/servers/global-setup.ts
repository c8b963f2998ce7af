import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { type Packed, packAndUnpack } from '../packages/packed.ts'
import { startCluster } from './cluster.mjs'
import { makePglite } from './pglite.mjs'
import { type PostgresAddress, startPostgres } from './postgres.mjs'
import { makeTemporaryDir } from './reaper.mjs'
import { type RedisAddress, startRedis } from './redis.mjs'
import { startSentinel } from './sentinel.mjs'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the test run hands out its shared servers. */
    sharedServersUrl: string
  }
}

/** What the test run tells about each of its shared servers. */
export interface SharedServers {
  redis: RedisAddress
  cluster: RedisAddress[]
  postgres: PostgresAddress
  pglite: { dir: string }
  packages: Packed
  sentinel: { name: string; sentinels: RedisAddress[]; nodes: RedisAddress[] }
}

interface Started<T> {
  readonly description: T
  stop(): Promise<void>
}

const addressOf = ({ address }: { address: RedisAddress }) => address

const starters: { [Kind in keyof SharedServers]: () => Promise<Started<SharedServers[Kind]>> } = {
  async redis() {
    const server = await startRedis()
    return { description: server.address, stop: () => server.stop() }
  },
  async cluster() {
    const cluster = await startCluster()
    return { description: cluster.nodes.map(addressOf), stop: () => cluster.stop() }
  },
  async postgres() {
    const server = await startPostgres()
    return { description: server.address, stop: () => server.stop() }
  },
  async pglite() {
    const dir = makeTemporaryDir('pglite')
    await makePglite(dir)
    return { description: { dir }, stop: async () => {} }
  },
  async packages() {
    const { packed, remove } = await packAndUnpack()
    return { description: packed, stop: async () => remove() }
  },
  async sentinel() {
    const system = await startSentinel()
    const description = {
      name: system.name,
      sentinels: system.sentinels.map(addressOf),
      nodes: system.nodes.map(addressOf),
    }
    return { description, stop: () => system.stop() }
  },
}

const isKind = (name: string): name is keyof SharedServers => Object.hasOwn(starters, name)

/** A SharedServerHost hands out the shared servers, to all projects of the run. */
interface SharedServerHost {
  readonly url: string
  close(): Promise<void>
}

async function openHost(): Promise<SharedServerHost> {
  // Every PostgreSQL of the run is a copy of the first.
  process.env.TEST_POSTGRES_DATA = join(makeTemporaryDir('postgres'), 'data')
  const started = new Map<string, Promise<Started<unknown>>>()
  const server = createServer((request, response) => {
    const kind = request.url?.slice(1) ?? ''
    if (!isKind(kind)) return void response.writeHead(404).end()
    const starting = started.get(kind) ?? starters[kind]()
    started.set(kind, starting)
    starting.then(
      ({ description }) => response.end(JSON.stringify(description)),
      (error: Error) => response.writeHead(500).end(error.message),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.close()
      const all = await Promise.allSettled(started.values())
      await Promise.all(all.map((each) => (each.status === 'fulfilled' ? each.value.stop() : undefined)))
    },
  }
}

/** Each project loads this module for itself: what they share is a property of the process. */
const ofProcess = globalThis as typeof globalThis & {
  sharedServers?: { host: Promise<SharedServerHost>; projects: number }
}

/**
 * Runs once for each project, in the process that runs the test files in others. A shared server starts when the first
 * file asks for it, so that a run which needs none waits for none; all stop when the last project is done.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  ofProcess.sharedServers ??= { host: openHost(), projects: 0 }
  const shared = ofProcess.sharedServers
  shared.projects += 1
  const host = await shared.host
  project.provide('sharedServersUrl', host.url)
  return async () => {
    shared.projects -= 1
    if (shared.projects > 0) return
    delete ofProcess.sharedServers
    await host.close()
  }
}
