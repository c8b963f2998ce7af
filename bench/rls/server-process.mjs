import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const bareServer = fileURLToPath(new URL('../grpc/server.mjs', import.meta.url))
const cli = fileURLToPath(new URL('../../server/dist/cli/main.js', import.meta.url))
const TICK_US = 10_000

/** startBare starts a grpc-js server that answers every call with the same bytes. */
export async function startBare() {
  const child = fork(bareServer, ['grpc-js'], { execArgv: ['--expose-gc'] })
  const [{ port }] = await once(child, 'message')
  return { child, port }
}

/** startService starts `sluice serve` as an operator would. */
export async function startService({ rules, redis, workers }) {
  const flags = ['--rules', rules, '--grpc-port', '0', '--http-port', '0', '--admin-port', '0', '--host', '127.0.0.1']
  if (redis !== undefined) flags.push('--redis', redis)
  if (workers > 1) flags.push('--workers', String(workers))
  const child = spawn(process.execPath, [cli, 'serve', '--log-format', 'json', ...flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH, SLUICE_SECRET: 'bench' },
  })
  for await (const line of createInterface(child.stdout)) {
    const { event, grpc } = JSON.parse(line)
    if (event === 'service.started') {
      child.stdout.resume()
      return { child, port: Number(grpc.split(':').at(-1)) }
    }
  }
  throw new Error('sluice serve ended before it was listening')
}

export async function stop({ child }) {
  const ended = once(child, 'exit')
  if (child.connected) child.disconnect()
  else child.kill('SIGTERM')
  await ended
}

/** cpuUs is the processor time of a process and of those that it started, so far. Linux only; elsewhere it is NaN. */
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
