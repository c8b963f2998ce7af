import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { load } from './load.mjs'
import { startNginx } from './nginx.mjs'

// node bench/gateway/clients.mjs PACKAGES [KIND …]: which client a proxy should have. The same small GET through proxies on
// node:http and undici, through what others offer, and through ours; nginx too where there is one. PACKAGES is a folder with
// undici, http-proxy-3, fastify and @fastify/http-proxy in it: npm install --prefix PACKAGES undici@7 …
// Processor time for each request is what to look at: it does not depend on who else uses the machine.

const [packages, ...wanted] = process.argv.slice(2)
const ROUNDS = Number(process.env.ROUNDS ?? 3)
const REQUESTS = Number(process.env.REQUESTS ?? 30_000)
const BODY_BYTES = Number(process.env.BODY_BYTES ?? 128)
const CONNECTIONS = 64
const own = ['sluice', 'node:http']
const others = ['undici dispatch', 'undici request', 'http-proxy-3', '@fastify/http-proxy']

const here = (name) => fileURLToPath(new URL(name, import.meta.url))

async function startProxy(kind, upstreamPort) {
  if (kind === 'nginx') return startNginx(upstreamPort)
  const child = fork(here('./proxy.mjs'), [kind, String(upstreamPort), packages ?? ''])
  const [{ port }] = await once(child, 'message')
  const cpuUs = async () => {
    child.send('usage')
    const [usage] = await once(child, 'message')
    return usage.cpuUs
  }
  return { port, cpuUs, stop: () => child.kill() }
}

async function measure(kind, upstreamPort) {
  const proxy = await startProxy(kind, upstreamPort)
  try {
    await load(proxy.port, CONNECTIONS, REQUESTS / 2, BODY_BYTES)
    const before = await proxy.cpuUs()
    const { perSecond, p99Ms } = await load(proxy.port, CONNECTIONS, REQUESTS, BODY_BYTES)
    const cpuUs = ((await proxy.cpuUs()) - before) / REQUESTS
    return { perSecond, p99Ms, cpuUs }
  } finally {
    proxy.stop()
  }
}

const median = (numbers) => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)]

const upstream = fork(here('./upstream.mjs'), [String(BODY_BYTES)])
const [{ port: upstreamPort }] = await once(upstream, 'message')
const kinds = [
  ...own,
  ...(packages === undefined ? [] : others),
  ...(existsSync('/usr/sbin/nginx') || existsSync(join('/usr/local/bin', 'nginx')) ? ['nginx'] : []),
].filter((kind) => wanted.length === 0 || wanted.includes(kind))
const results = new Map(kinds.map((kind) => [kind, []]))
for (let round = 0; round < ROUNDS; round++) {
  for (const kind of kinds) results.get(kind).push(await measure(kind, upstreamPort))
}
console.log(
  `Node.js ${process.version}, ${REQUESTS} requests on ${CONNECTIONS} connections, ${BODY_BYTES} bytes, median of ${ROUNDS}`,
)
for (const [kind, rounds] of results) {
  const [cpuUs, perSecond, p99Ms] = ['cpuUs', 'perSecond', 'p99Ms'].map((name) =>
    median(rounds.map((each) => each[name])),
  )
  console.log(
    `${kind.padEnd(22)} ${cpuUs.toFixed(1)} µs a request, ${Math.round(perSecond)}/s, p99 ${p99Ms.toFixed(1)} ms`,
  )
}
upstream.kill()
