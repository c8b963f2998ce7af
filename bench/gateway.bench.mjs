import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { findCommand } from '../scripts/system-packages.mjs'
import { load } from './gateway/load.mjs'
import { startNginx } from './gateway/nginx.mjs'
import { installPeers, peersFolder, peerVersions } from './gateway/peers.mjs'
import { count, header, median, spread, table } from './report.mjs'
import { measureRounds } from './rounds.mjs'

// npm run bench -- gateway [--quick] [KIND …]: one small GET through our gateway, through proxies of others, and through nginx
// where there is one (apt-get install nginx), each in one process. A round with an answer that is not 200, or with a connection
// that a proxy closed, is void. Processor time for a request says more than requests a second: the load and the upstream use the
// same machine.

const isQuick = process.argv.includes('--quick')
const ROUNDS = Number(process.env.ROUNDS ?? (isQuick ? 1 : 5))
const REQUESTS = Number(process.env.REQUESTS ?? (isQuick ? 5_000 : 30_000))
const BODY_BYTES = Number(process.env.BODY_BYTES ?? 128)
const CONNECTIONS = 64
/** What workers of the service are started with; the others get it too. */
const V8_FLAGS = ['--min-semi-space-size=16']
const MOST_OF_NGINX = 3

const here = (name) => fileURLToPath(new URL(name, import.meta.url))
const nginx = findCommand('nginx')

const KINDS = [
  'sluice',
  'node:http',
  'undici dispatch',
  'undici request',
  'http-proxy-3',
  '@fastify/http-proxy',
  '@fastify/http-proxy, @fastify/rate-limit',
  ...(nginx === undefined ? [] : ['nginx', 'nginx, limit_req']),
]

async function startProxy(kind) {
  if (kind.startsWith('nginx')) return startNginx(nginx, upstreamPort, kind.endsWith('limit_req'))
  const child = fork(here('./gateway/proxy.mjs'), [kind, String(upstreamPort), peersFolder], { execArgv: V8_FLAGS })
  const [{ port }] = await once(child, 'message')
  const cpuUs = async () => {
    child.send('usage')
    const [usage] = await once(child, 'message')
    return usage.cpuUs
  }
  return { port, cpuUs, stop: () => child.kill() }
}

async function measure(kind) {
  const proxy = await startProxy(kind)
  try {
    await load(proxy.port, CONNECTIONS, REQUESTS / 2, BODY_BYTES)
    const before = await proxy.cpuUs()
    const { perSecond, p99Ms } = await load(proxy.port, CONNECTIONS, REQUESTS, BODY_BYTES)
    return { perSecond, p99Ms, cpuUs: ((await proxy.cpuUs()) - before) / REQUESTS }
  } catch (error) {
    return { voids: [error.message.split('\r\n')[0]] }
  } finally {
    proxy.stop()
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
for (const kind of kinds.filter((each) => each !== 'sluice' && !each.startsWith('nginx'))) {
  const verdict = ownUs < usOf(kind) ? 'less' : 'not less'
  console.log(`CPU of ours: ${ownUs.toFixed(1)} of ${usOf(kind).toFixed(1)} µs: ${verdict} than ${kind}`)
}
if (kinds.includes('nginx')) {
  const ratio = ownUs / usOf('nginx')
  const verdict = ratio <= MOST_OF_NGINX ? 'met' : 'missed'
  console.log(`CPU of ours: ${ratio.toFixed(1)} × nginx (budget ${MOST_OF_NGINX} ×: ${verdict})`)
}
upstream.kill()
process.exit()
