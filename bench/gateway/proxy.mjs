import http from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'

// One proxy in a separate process: node proxy.mjs KIND UPSTREAM-PORT PACKAGES LIMIT. It reports its port, and its
// processor time on request. PACKAGES is a folder with the other proxies' packages installed; LIMIT is how many
// requests a minute the limiting ones allow an address.

const [kind, upstreamPort, packages, limit] = process.argv.slice(2)
const target = `http://127.0.0.1:${upstreamPort}`
const load = (name) => createRequire(join(packages, 'package.json'))(name)

const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
  'expect',
])

/** Copies raw headers except hop-by-hop ones, and adds where the request came from: what every proxy has to do. */
function forwarded(request) {
  const { rawHeaders, socket } = request
  const headers = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (!HOP_BY_HOP.has(rawHeaders[i].toLowerCase())) headers.push(rawHeaders[i], rawHeaders[i + 1])
  }
  headers.push('x-forwarded-for', socket.remoteAddress, 'x-forwarded-proto', 'http', 'via', '1.1 bench')
  return headers
}

const hasBody = ({ headers }) => headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined

const PROXIES = {
  sluice: () => sluiceGateway(['--limit', `${limit}/1m`]),
  'sluice, no limit': () => sluiceGateway(['--no-limit']),

  'node:http'() {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 256 })
    return listen((request, response) => {
      const { method, url } = request
      const asked = http.request(
        { agent, host: '127.0.0.1', port: upstreamPort, method, path: url, headers: forwarded(request) },
        (answer) => {
          response.writeHead(answer.statusCode, answer.rawHeaders)
          answer.pipe(response)
        },
      )
      asked.on('error', () => response.destroy())
      if (hasBody(request)) request.pipe(asked)
      else asked.end()
    })
  },

  'undici dispatch'() {
    const { Pool } = load('undici')
    const pool = new Pool(target, { connections: 256 })
    class Handler {
      constructor(response) {
        this.response = response
      }
      onRequestStart(controller) {
        this.controller = controller
        this.response.on('drain', () => controller.resume())
      }
      onResponseStart(controller, status, headers) {
        this.response.writeHead(status, controller.rawHeaders?.map(String) ?? headers)
      }
      onResponseData(controller, chunk) {
        if (!this.response.write(chunk)) controller.pause()
      }
      onResponseEnd() {
        this.response.end()
      }
      onResponseError() {
        this.response.destroy()
      }
    }
    return listen((request, response) => {
      const body = hasBody(request) ? request : null
      const { method, url } = request
      pool.dispatch({ method, path: url, headers: forwarded(request), body }, new Handler(response))
    })
  },

  'undici request'() {
    const { Pool } = load('undici')
    const pool = new Pool(target, { connections: 256 })
    return listen(async (request, response) => {
      const body = hasBody(request) ? request : null
      const { method, url } = request
      try {
        const answer = await pool.request({ method, path: url, headers: forwarded(request), body })
        response.writeHead(answer.statusCode, answer.headers)
        answer.body.pipe(response)
      } catch {
        response.destroy()
      }
    })
  },

  'http-proxy-3'() {
    const { createProxyServer } = load('http-proxy-3')
    const agent = new http.Agent({ keepAlive: true, maxSockets: 256 })
    const proxy = createProxyServer({ target, xfwd: true, agent })
    proxy.on('error', (_error, _request, response) => response.destroy?.())
    return listen((request, response) => proxy.web(request, response))
  },

  '@fastify/http-proxy': () => fastifyProxy(false),
  '@fastify/http-proxy, @fastify/rate-limit': () => fastifyProxy(true),
}

/** What the command `sluice gateway` starts, with everything that is on by default. */
async function sluiceGateway(args) {
  const { readGatewayConfig } = await import('../../server/dist/app/settings/gateway-settings.js')
  const { logTo } = await import('../../server/dist/app/log/log.js')
  const { startService } = await import('../../server/dist/app/wire.js')
  const ports = ['--host', '127.0.0.1', '--port', '0', '--admin-port', '0']
  // The others have neither, and all load comes from one address.
  const bare = ['--concurrency', 'off', '--ceiling', 'off', '--ceiling-per-ip', 'off']
  const { addresses } = await startService(
    readGatewayConfig(['--to', target, ...ports, ...bare, ...args], {}),
    logTo(() => {}),
  )
  return Number(addresses.gateway.split(':').at(-1))
}

async function fastifyProxy(limits) {
  const app = load('fastify')()
  if (limits) await app.register(load('@fastify/rate-limit'), { max: Number(limit), timeWindow: 60_000 })
  await app.register(load('@fastify/http-proxy'), { upstream: target, undici: { connections: 256 } })
  await app.listen({ port: 0, host: '127.0.0.1' })
  return app.server.address().port
}

function listen(listener) {
  return new Promise((resolve) => {
    const server = http.createServer({ keepAliveTimeout: 60_000 }, listener)
    server.listen(0, '127.0.0.1', () => resolve(server.address().port))
  })
}

process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send({ cpuUs: user + system, rssBytes: process.memoryUsage.rss() })
})
process.send({ port: await PROXIES[kind]() })
