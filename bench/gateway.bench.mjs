import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { findCommand } from '../scripts/system-packages.mjs'
import { askOnce, load } from './gateway/load.mjs'
import { startNginx } from './gateway/nginx.mjs'
import { installPeers, peersFolder, peerVersions } from './gateway/peers.mjs'
import { count, header, median, spread, table } from './report.mjs'
import { measureRounds } from './rounds.mjs'

// npm run bench -- gateway [--quick] [KIND …]: one small GET through our gateway, through proxies of others, and
// through nginx where there is one (apt-get install nginx), each in one process that has answered others before. Ours
// counts requests by address, in memory, and so do the ones whose name says so: all up to the same limit, which is
// never reached. First each of these gets a low one, and has to refuse what is above it: otherwise nothing is measured.
// A round with an answer that is not 200, or with a connection that a proxy closed, is void. Processor time for a
// request says more than requests a second: the load and the upstream use the same machine.

const isQuick = process.argv.includes('--quick')
const ROUNDS = Number(process.env.ROUNDS ?? (isQuick ? 1 : 5))
const REQUESTS = Number(process.env.REQUESTS ?? (isQuick ? 5_000 : 30_000))
const BODY_BYTES = Number(process.env.BODY_BYTES ?? 128)
const WARM_UP = 4
const CONNECTIONS = 64
/** What workers of the service are started with; the others get it too. */
const V8_FLAGS = ['--min-semi-space-size=16']
const MOST_OF_NGINX = 3
/**
 * Requests of one address in a minute: a limit that is never reached, and one that always is. nginx counts by the
 * second.
 */
const FAR_LIMIT = 60_000_000
const LOW_LIMIT = 20

const here = (name) => fileURLToPath(new URL(name, import.meta.url))
const nginx = findCommand('nginx')

const KINDS = [
  'sluice',
  'sluice, no limit',
  'node:http',
  'undici dispatch',
  'undici request',
  'http-proxy-3',
  '@fastify/http-proxy',
  '@fastify/http-proxy, @fastify/rate-limit',
  ...(nginx === undefined ? [] : ['nginx', 'nginx, limit_req']),
]

const LIMITING = new Set(['sluice', '@fastify/http-proxy, @fastify/rate-limit', 'nginx, limit_req'])

async function startProxy(kind, limit = FAR_LIMIT) {
  if (kind.startsWith('nginx')) return startNginx(nginx, upstreamPort, LIMITING.has(kind) ? limit : undefined)
  const args = [kind, String(upstreamPort), peersFolder, String(limit)]
  const child = fork(here('./gateway/proxy.mjs'), args, { execArgv: V8_FLAGS })
  const [{ port }] = await once(child, 'message')
  const cpuUs = async () => {
    child.send('usage')
    const [usage] = await once(child, 'message')
    return usage.cpuUs
  }
  return { port, cpuUs, stop: () => child.kill() }
}

/** Throws where a proxy does not refuse what is above a limit, or refuses what is below. */
async function checkLimiter(kind) {
  const proxy = await startProxy(kind, LOW_LIMIT)
  try {
    const { 200: passed = 0, 429: refused = 0 } = await askOnce(proxy.port, 2 * LOW_LIMIT)
    // nginx lets one more through every three seconds.
    if (passed < LOW_LIMIT || passed > LOW_LIMIT + 5 || passed + refused !== 2 * LOW_LIMIT) {
      throw new Error(`${kind} does not limit: of ${2 * LOW_LIMIT} requests ${passed} passed a limit of ${LOW_LIMIT}`)
    }
  } finally {
    proxy.stop()
  }
}

/**
 * Starts a proxy that has answered many requests: it runs for days, and what its compiler does at first is no part of
 * one.
 */
async function warmed(kind) {
  const proxy = await startProxy(kind)
  await load(proxy.port, CONNECTIONS, WARM_UP * REQUESTS, BODY_BYTES)
  return proxy
}

async function measure(kind) {
  const proxy = proxies.get(kind)
  try {
    const before = await proxy.cpuUs()
    const { perSecond, p99Ms } = await load(proxy.port, CONNECTIONS, REQUESTS, BODY_BYTES)
    return { perSecond, p99Ms, cpuUs: ((await proxy.cpuUs()) - before) / REQUESTS }
  } catch (error) {
    return { voids: [error.message.split('\r\n')[0]] }
  }
}

const medianOf = (runs, name) => median(runs.map((run) => run[name]))

function row(kind, runs, ownUs) {
  const cpus = runs.map(({ cpuUs }) => cpuUs)
  return [
    kind,
    `${median(cpus).toFixed(1)} µs`,
    `± ${spread(cpus).toFixed(0)} %`,
    `${(median(cpus) / ownUs).toFixed(2)} ×`,
    count(medianOf(runs, 'perSecond')),
    `${medianOf(runs, 'p99Ms').toFixed(1)} ms`,
  ]
}

await installPeers()
const upstream = fork(here('./gateway/upstream.mjs'), [String(BODY_BYTES)])
const [{ port: upstreamPort }] = await once(upstream, 'message')
const wanted = process.argv.slice(2).filter((each) => !each.startsWith('--'))
const kinds = KINDS.filter((kind) => wanted.length === 0 || wanted.includes(kind))

console.log(header(`npm run bench -- gateway${isQuick ? ' --quick' : ''}`, ['sluice']))
const nginxVersion =
  nginx === undefined ? 'no nginx' : execFileSync('sh', ['-c', `${nginx} -v 2>&1`], { encoding: 'utf8' }).trim()
console.log(`others    ${[...peerVersions(), nginxVersion].join(', ')}`)
console.log(
  `load      ${count(REQUESTS)} GETs on ${CONNECTIONS} connections, ${BODY_BYTES} bytes each, ${ROUNDS} rounds\n`,
)

for (const kind of kinds.filter((each) => LIMITING.has(each))) await checkLimiter(kind)

const proxies = new Map()
for (const kind of kinds) proxies.set(kind, await warmed(kind))
const results = await measureRounds(kinds, ROUNDS, { measure, nameOf: (kind) => kind })
const usOf = (kind) => medianOf(results[kinds.indexOf(kind)] ?? [], 'cpuUs')
const ownUs = usOf('sluice')
const HEAD = ['', 'CPU a request', 'spread', 'of ours', 'requests per second', 'p99']
console.log(
  table(
    HEAD,
    kinds.map((kind, i) => row(kind, results[i], ownUs)),
  ),
)
console.log()
const own = results[kinds.indexOf('sluice')] ?? []
for (const [i, kind] of kinds.entries()) {
  if (kind.startsWith('sluice') || kind.startsWith('nginx') || own.length === 0) continue
  const ahead = {
    CPU: ownUs < usOf(kind),
    throughput: medianOf(own, 'perSecond') > medianOf(results[i], 'perSecond'),
    p99: medianOf(own, 'p99Ms') < medianOf(results[i], 'p99Ms'),
  }
  const behind = Object.keys(ahead).filter((name) => !ahead[name])
  const verdict = behind.length === 0 ? 'ahead in CPU, throughput and p99' : `behind in ${behind.join(' and ')}`
  console.log(`ours, with its limit, and ${kind}: ${verdict}`)
}
if (kinds.includes('nginx')) {
  const ratio = ownUs / usOf('nginx')
  const verdict = ratio <= MOST_OF_NGINX ? 'met' : 'missed'
  console.log(`CPU of ours: ${ratio.toFixed(1)} × nginx (budget ${MOST_OF_NGINX} ×: ${verdict})`)
}
for (const proxy of proxies.values()) proxy.stop()
upstream.kill()
process.exit()
