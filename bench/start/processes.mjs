import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { get } from 'node:http'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { reapAtExit } from '../../tests/servers/reaper.mjs'

const sluice = fileURLToPath(new URL('../../server/bin/sluice.mjs', import.meta.url))
const ANY_PORTS = ['--http-port', '0', '--grpc-port', '0', '--admin-port', '0', '--host', '127.0.0.1']
const IDLE_MS = 2_000

/** Runs a program to its end. */
export async function ended(args) {
  const startedAt = performance.now()
  const child = started(args)
  // Asked when it is idle, so the times cover its whole life.
  await once(child.stdout, 'data')
  const figures = { ms: performance.now() - startedAt, cpuMs: cpuMsOf(child.pid) }
  child.stdin.end()
  await once(child, 'exit')
  return figures
}

/** Runs `sluice serve` until its health check answers 200, and then for two seconds without a request. */
export async function healthy(args) {
  const startedAt = performance.now()
  const child = started([sluice, 'serve', '--log-format', 'json', ...ANY_PORTS, ...args])
  const address = await addressOf(child)
  if ((await statusOf(`http://${address}/healthcheck`)) !== 200) throw new Error('sluice serve is not healthy')
  const figures = { ms: performance.now() - startedAt, cpuMs: cpuMsOf(child.pid) }
  await sleep(IDLE_MS)
  const memory = residentBytes(child.pid)
  child.kill('SIGTERM')
  await once(child, 'exit')
  return { ...figures, ...memory }
}

function started(args) {
  const child = spawn(process.execPath, args, {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH, SLUICE_SECRET: 'bench' },
  })
  reapAtExit(child)
  return child
}

async function addressOf(child) {
  for await (const line of createInterface(child.stdout)) {
    const { event, http } = JSON.parse(line)
    if (event !== 'service.started') continue
    child.stdout.resume()
    return http
  }
  throw new Error('sluice serve ended before it was listening')
}

async function statusOf(url) {
  const [response] = await once(get(url, { agent: false }), 'response')
  response.resume()
  return response.statusCode
}

/** Returns a process and its children. */
function familyOf(pid) {
  const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && parentOf(name) === pid)
  return [String(pid), ...children]
}

function parentOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return undefined
  }
}

/** The processor time of a process and its workers, all threads: from the scheduler, which counts nanoseconds. */
function cpuMsOf(pid) {
  const threads = familyOf(pid).flatMap((each) =>
    readdirSync(`/proc/${each}/task`).map((thread) => `/proc/${each}/task/${thread}/schedstat`),
  )
  return threads.reduce((sum, path) => sum + Number(readFileSync(path, 'utf8').split(' ')[0]) / 1e6, 0)
}

/** The memory of a process and its workers: of the largest of them, and of all. */
function residentBytes(pid) {
  const each = familyOf(pid).map((member) => {
    const [, kib] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${member}/status`, 'utf8'))
    return Number(kib) * 1_024
  })
  return { largestBytes: Math.max(...each), allBytes: each.reduce((sum, bytes) => sum + bytes, 0) }
}
