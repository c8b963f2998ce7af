import { once } from 'node:events'
import { createServer, request as httpRequest, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { posix } from 'node:path'
import { createAdaptorServer } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import type { PathUpstream } from '../fixtures/path-spellings.ts'
import { startNginx } from '../servers/nginx.mjs'

/** A RunningUpstream answers with the name of the handler that a request reached, and the target that it got: `login /login`. */
export interface RunningUpstream {
  readonly url: string
  close(): Promise<unknown>
}

const LOGIN = 'login'
const USER = 'user'
const OTHER = 'other'

async function listening(server: Server, closed: () => unknown = () => {}): Promise<RunningUpstream> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await closed()
    },
  }
}

function plain(pathOf: (target: string) => string): Promise<RunningUpstream> {
  const listener: RequestListener = ({ url = '' }, response) => {
    const path = pathOf(url)
    const handler = path === '/login' ? LOGIN : /^\/users\/[^/]+$/.test(path) ? USER : OTHER
    response.end(`${handler} ${url}`)
  }
  // As much as the gateway takes, and not the 16 KB of Node.js.
  return listening(createServer({ maxHeaderSize: 131_072 }, listener))
}

async function fastifyUpstream(settings: object): Promise<RunningUpstream> {
  const app = fastify(settings)
  app.get('/login', async ({ raw }) => `${LOGIN} ${raw.url}`)
  app.get('/users/:id', async ({ raw }) => `${USER} ${raw.url}`)
  app.setNotFoundHandler(async ({ raw }) => `${OTHER} ${raw.url}`)
  await app.ready()
  return listening(app.server, () => app.close())
}

/** Reads as much into a path as anything does. */
function readLoosely(target: string): string {
  const [path] = target.replace(/^https?:\/\/[^/]*/i, '').split(/[?#]/, 1)
  const bare = path
    .split('/')
    .map((segment) => segment.replace(/;.*/, ''))
    .join('/')
  const text = posix.normalize(lenientlyDecoded(bare).replaceAll('\\', '/')).replace(/\p{Cc}.*/su, '')
  const folded = text.toUpperCase().toLowerCase()
  return folded.length > 1 ? folded.replace(/\/+$/, '') : folded
}

/** Decodes overlong forms, too, as old decoders of UTF-8 do. */
function lenientlyDecoded(path: string): string {
  const shortened = path.replace(/%c0%a([ef])|%e0%80%a([ef])/gi, (_, one, two) => `%2${one ?? two}`)
  try {
    return decodeURIComponent(shortened)
  } catch {
    return shortened
  }
}

const NGINX = `
merge_slashes on;
location = /login { return 200 "login $request_uri"; }
location /login/ { return 200 "login $request_uri"; }
location /users/ { return 200 "user $request_uri"; }
location / { return 200 "other $request_uri"; }
`

const START: Readonly<Record<PathUpstream, () => Promise<RunningUpstream>>> = {
  Express: () => {
    const app = express()
    app.set('env', 'test')
    app.get('/login', ({ originalUrl }, response) => void response.send(`${LOGIN} ${originalUrl}`))
    app.get('/users/:id', ({ originalUrl }, response) => void response.send(`${USER} ${originalUrl}`))
    app.use(({ originalUrl }, response) => void response.send(`${OTHER} ${originalUrl}`))
    return listening(createServer(app))
  },
  Fastify: () => fastifyUpstream({}),
  'Fastify, loose': () =>
    fastifyUpstream({
      routerOptions: {
        caseSensitive: false,
        ignoreTrailingSlash: true,
        ignoreDuplicateSlashes: true,
        useSemicolonDelimiter: true,
      },
    }),
  Hono: () => {
    const app = new Hono<{ Bindings: { incoming: { url?: string } } }>()
    app.get('/login', (c) => c.text(`${LOGIN} ${c.env.incoming.url}`))
    app.get('/users/:id', (c) => c.text(`${USER} ${c.env.incoming.url}`))
    app.all('*', (c) => c.text(`${OTHER} ${c.env.incoming.url}`))
    return listening(createAdaptorServer(app) as Server)
  },
  nginx: async () => {
    const server = await startNginx({ server: NGINX })
    return { url: server.url, close: () => server.stop() }
  },
  Node: () => plain((target) => new URL(target, 'http://x').pathname),
  loose: () => plain(readLoosely),
}

export function startUpstream(name: PathUpstream): Promise<RunningUpstream> {
  return START[name]()
}

export interface Answered {
  readonly status: number
  readonly text: string
  /** The name of the handler, where one was reached. */
  readonly handler: string
  /** What the upstream got. */
  readonly target: string
}

/** Sends a request line as it is written. */
export function ask(url: string, path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answered> {
  const { hostname: host, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const sent = httpRequest({ host, port, path, headers, agent: false })
    sent.on('error', reject)
    sent.on('response', (response) => {
      const parts: Buffer[] = []
      response.on('data', (part: Buffer) => parts.push(part))
      response.on('end', () => {
        const text = Buffer.concat(parts).toString()
        const [, handler = '', target = ''] = /^(login|user|other) (.*)$/s.exec(text) ?? []
        resolve({ status: response.statusCode ?? 0, text, handler, target })
      })
    })
    sent.end()
  })
}
