import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../tests/servers/ports.mjs'
import { makeTemporaryDir, reapAtExit } from '../../tests/servers/reaper.mjs'
import { until } from '../../tests/servers/until.mjs'
import { sumOfAll } from '../redis-audit.mjs'
import { voidsBefore } from '../rls/audit.mjs'
import { cpuUs, stop, watched, watcher } from '../rls/server-process.mjs'
import { FAR } from '../rls/traffic.mjs'
import { NODE_FLAGS } from './callers.mjs'
import { asked } from './service.mjs'

const bareServer = fileURLToPath(new URL('./bare-server.mjs', import.meta.url))

/** Starts a service that sends a bare EVALSHA for each call: the least that a decision over gRPC takes. */
export async function openBare(redis) {
  const args = [...NODE_FLAGS, '--import', watcher, bareServer, redis.host, `${redis.port}`]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit', 'pipe'] })
  reapAtExit(child)
  const [port] = await once(createInterface(child.stdout), 'line')
  return countedBy(redis, { child, port: Number(port) }, () => watched({ child }))
}

/** Starts a prebuilt binary of envoyproxy/ratelimit, with its default settings. */
export async function openReference(binary, redis) {
  const dir = makeTemporaryDir('reference')
  mkdirSync(join(dir, 'bench', 'config'), { recursive: true })
  const descriptors = [{ key: 'api_key', rate_limit: FAR }]
  writeFileSync(join(dir, 'bench', 'config', 'rules.yaml'), JSON.stringify({ domain: 'bench', descriptors }))
  const [port, http, debug] = [await freePort(), await freePort(), await freePort()]
  const env = {
    PATH: process.env.PATH,
    RUNTIME_ROOT: dir,
    RUNTIME_SUBDIRECTORY: 'bench',
    RUNTIME_WATCH_ROOT: 'false',
    REDIS_SOCKET_TYPE: 'tcp',
    REDIS_URL: `${redis.host}:${redis.port}`,
    GRPC_PORT: `${port}`,
    PORT: `${http}`,
    DEBUG_PORT: `${debug}`,
    LOG_LEVEL: 'error',
    DISABLE_STATS: 'true',
  }
  const child = spawn(binary, [], { env, stdio: ['ignore', 'ignore', 'inherit'] })
  reapAtExit(child)
  await until('the reference listens', () => isOpen(port))
  const server = { child, port }
  let before = cpuUs(server)
  const cpuAlone = async () => {
    const now = cpuUs(server)
    const taken = { cpuUs: now - before }
    before = now
    return taken
  }
  return countedBy(redis, server, cpuAlone)
}

async function countedBy(redis, server, watch) {
  const { codes, load } = await asked(server.port)
  return {
    scheduled: (perSecond, ms) => load.scheduled(perSecond, ms),
    watched: watch,
    async end() {
      const voids = await voidsBefore(server, load)
      load.close()
      await stop(server)
      const counted = await sumOfAll(redis)
      return counted === codes.ok ? voids : [...voids, `${codes.ok} were answered, but Redis counted ${counted}`]
    },
  }
}

async function isOpen(port) {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } finally {
    socket.destroy()
  }
}
