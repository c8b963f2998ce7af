import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Load } from '../grpc/load.mjs'
import { voidsAfter, voidsBefore } from '../rls/audit.mjs'
import { startService, stop, watched } from '../rls/server-process.mjs'
import { rulesOf, trafficOf } from '../rls/traffic.mjs'
import { CALLERS, NODE_FLAGS } from './callers.mjs'

const CONNECTIONS = 4

/** Opens the connections over which a server is asked; `codes` counts its answers. */
export async function asked(port) {
  const { codes, traffic } = trafficOf(1, { callers: CALLERS })
  return { codes, load: await Load.open(port, CONNECTIONS, traffic) }
}

/**
 * Starts `sluice serve` with one worker, and the connections over which it is asked. Its `end` says why its figures are
 * none: something was not decided by the store, or not counted there.
 */
export async function openService({ store, consistency }, redis) {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
  const rules = join(dir, 'rules.yaml')
  writeFileSync(rules, rulesOf(consistency))
  const isShared = store === 'redis'
  const server = await startService({
    rules,
    redis: isShared ? redis.url : undefined,
    workers: 1,
    watched: true,
    nodeFlags: NODE_FLAGS,
  })
  const { codes, load } = await asked(server.port)
  return {
    scheduled: (perSecond, ms) => load.scheduled(perSecond, ms),
    watched: () => watched(server),
    async end() {
      const voids = await voidsBefore(server, load)
      load.close()
      await stop(server)
      rmSync(dir, { recursive: true })
      return isShared ? [...voids, ...(await voidsAfter(redis.url, codes.ok))] : voids
    },
  }
}
