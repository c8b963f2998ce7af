import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { reapAtExit } from '../../tests/servers/reaper.mjs'

const bareServer = fileURLToPath(new URL('../grpc/server.mjs', import.meta.url))
const cli = fileURLToPath(new URL('../../server/bin/sluice.mjs', import.meta.url))
/** A module to load before a server that is to be watched. */
export const watcher = new URL('./watch-process.mjs', import.meta.url).href
const TICK_US = 10_000

/** Starts a grpc-js server that answers every call with the same bytes. */
export async function startBare() {
  const child = fork(bareServer, ['grpc-js'], { execArgv: ['--expose-gc'] })
  const [{ port }] = await once(child, 'message')
  return { child, port }
}

/**
 * Starts `sluice serve` as an operator would. With `watched`, a preloaded module records what its process did: see
 * watch-process.mjs.
 */
export async function startService({ rules, redis, workers, watched = false, more = [], nodeFlags = [] }) {
  const flags = [
    '--rules',
    rules,
    '--grpc-port',
    '0',
    '--http-port',
    '0',
    '--admin-port',
    '0',
    '--host',
    '127.0.0.1',
    ...more,
  ]
  if (redis !== undefined) flags.push('--redis', redis)
  if (workers > 1) flags.push('--workers', String(workers))
  const preload = watched ? ['--import', watcher] : []
  const child = spawn(process.execPath, [...nodeFlags, ...preload, cli, 'serve', '--log-format', 'json', ...flags], {
    stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
    env: { PATH: process.env.PATH, SLUICE_SECRET: 'bench' },
  })
  reapAtExit(child)
  for await (const line of createInterface(child.stdout)) {
    const { event, grpc, admin } = JSON.parse(line)
    if (event === 'service.started') {
      child.stdout.resume()
      return { child, port: Number(grpc.split(':').at(-1)), admin: `http://${admin}` }
    }
  }
  throw new Error('sluice serve ended before it was listening')
}

/** Returns what a watched service did since the last time: see process-watch.mjs. */
export async function watched({ child }) {
  const reported = once(child.stdio[3], 'data')
  child.kill('SIGUSR2')
  const [line] = await reported
  return JSON.parse(String(line))
}

/** Lists what the service decided without its store, and calls to the store that failed, as text. */
export async function fallbacksOf({ admin }) {
  const stats = await (await fetch(`${admin}/stats?format=json`)).json()
  return Object.entries(stats)
    .filter(([name, value]) => /^sluice\.(fallback|redis\.faults)\./.test(name) && value > 0)
    .map(([name, value]) => `${name} ${value}`)
}

export async function stop({ child }) {
  const ended = once(child, 'exit')
  if (child.connected) child.disconnect()
  else child.kill('SIGTERM')
  await ended
}

/** Returns the processor time of a process and its children, so far. Linux only; elsewhere it is NaN. */
export function cpuUs({ child }) {
  try {
    const stats = readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((pid) => statOf(pid))
    const own = stats.filter(({ pid, parent }) => pid === child.pid || parent === child.pid)
    return own.reduce((sum, { ticks }) => sum + ticks * TICK_US, 0)
  } catch {
    return Number.NaN
  }
}

function statOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return [{ pid: Number(pid), parent: Number(fields[1]), ticks: Number(fields[11]) + Number(fields[12]) }]
  } catch {
    return []
  }
}
