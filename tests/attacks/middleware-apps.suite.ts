import { once } from 'node:events'
import { createServer, request as httpRequest, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer, type HttpBindings } from '@hono/node-server'
import { Controller, Get, Module, type Type } from '@nestjs/common'
import { NestFactory, Reflector } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import Koa, { type Context } from 'koa'
import type { GateOptions } from '../../src/http-door/gate.ts'
import { rateLimit as expressLimit } from '../../src/middleware/express/index.ts'
import fastifyLimit from '../../src/middleware/fastify/index.ts'
import { rateLimit as fetchLimit } from '../../src/middleware/fetch/index.ts'
import { rateLimit as honoLimit } from '../../src/middleware/hono/index.ts'
import { rateLimit as koaLimit } from '../../src/middleware/koa/index.ts'
import { SluiceGuard } from '../../src/middleware/nest/index.ts'
import { decorated } from '../../src/middleware/nest/nest-app.suite.ts'

export type AttackOptions = GateOptions<unknown>

/** What reached the handlers of an app, by the handler's name. */
export type Reached = string[]

/** An App is behind a limiter: GET /login, /Report and /users/:id have handlers. */
export interface App {
  readonly name: string
  start(options: AttackOptions, reached: Reached): Promise<Target>
}

/** A Target is a running app. */
export interface Target {
  /** Sends a request line as it is written, and returns the status of the answer: 0 for none that can be read. */
  send(target: string, headers?: Readonly<Record<string, string>>, method?: string): Promise<number>
  close(): Promise<void>
}

/** Starts a server on a port of its own. */
export async function targetOf(server: Server, closed: () => unknown = () => {}): Promise<Target> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    send: (path, headers = {}, method = 'GET') =>
      new Promise((resolve) => {
        const sent = httpRequest({ host: '127.0.0.1', port, path, method, headers, agent: false })
        sent.on('error', () => resolve(0))
        sent.on('response', (response) => {
          response.resume().on('end', () => resolve(response.statusCode ?? 0))
        })
        sent.end()
      }),
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
      await closed()
    },
  }
}

export const expressApp: App = {
  name: 'Express',
  start: (options, reached) => {
    const app = express()
    app.set('env', 'test')
    app.use(expressLimit(options as never))
    app.get('/login', (_, response) => void response.send(seen(reached, 'login')))
    app.get('/Report', (_, response) => void response.send(seen(reached, 'report')))
    app.get('/users/:id', (_, response) => void response.send(seen(reached, 'user')))
    return targetOf(createServer(app))
  },
}

const fastifyApp = (name: string, settings: object): App => ({
  name,
  start: async (options, reached) => {
    const app = fastify(settings)
    await app.register(fastifyLimit, options as never)
    app.get('/login', async () => seen(reached, 'login'))
    app.get('/Report', async () => seen(reached, 'report'))
    app.get('/users/:id', async () => seen(reached, 'user'))
    await app.ready()
    return targetOf(app.server, () => app.close())
  },
})

const honoApp = (name: string, settings: object): App => ({
  name,
  start: (options, reached) => {
    const app = new Hono(settings)
    app.use(honoLimit(options as never))
    app.get('/login', (c) => c.text(seen(reached, 'login')))
    app.get('/Report', (c) => c.text(seen(reached, 'report')))
    app.get('/users/:id', (c) => c.text(seen(reached, 'user')))
    return targetOf(createAdaptorServer(app) as Server)
  },
})

/** Stands for a router that an app has of its own. */
function findHandler(path: string): string | undefined {
  if (path === '/login') return 'login'
  if (path === '/Report') return 'report'
  return path.startsWith('/users/') ? 'user' : undefined
}

/** Finds handlers as @koa/router does: by default neither case nor a slash at the end matters to it. */
function findLoosely(path: string): string | undefined {
  const loose = path.length > 1 && path.endsWith('/') ? path.slice(0, -1).toLowerCase() : path.toLowerCase()
  return findHandler(loose === '/report' ? '/Report' : loose)
}

type Find = typeof findHandler

const koaApp = (name: string, find: Find): App => ({
  name,
  start: (options, reached) => {
    const app = new Koa()
    app.silent = true
    app.use(koaLimit(options as never))
    app.use((ctx: Context) => {
      const handler = find(ctx.path)
      if (handler !== undefined) ctx.body = seen(reached, handler)
    })
    return targetOf(createServer(app.callback()))
  },
})

const fetchApp = (name: string, find: Find): App => ({
  name,
  start: (options, reached) => {
    const handler = fetchLimit(options as never).protect(async (request: Request, _beside: object) => {
      const found = find(decodeURI(new URL(request.url).pathname))
      return found === undefined ? new Response('', { status: 404 }) : new Response(seen(reached, found))
    })
    const fetch = (request: Request, env: unknown): Promise<Response> => {
      const { incoming } = env as HttpBindings
      return handler(request, { remoteAddr: { hostname: incoming.socket.remoteAddress } })
    }
    return targetOf(createAdaptorServer({ fetch }) as Server)
  },
})

const nestApp = (name: string, platform: () => ExpressAdapter | FastifyAdapter): App => ({
  name,
  start: async (options, reached) => {
    const guard = new SluiceGuard(options as never, new Reflector())
    const app = await NestFactory.create(nestModule(reached), platform() as never, {
      logger: false,
      abortOnError: false,
    })
    app.useGlobalGuards(guard)
    await app.init()
    await app.getHttpAdapter().getInstance().ready?.()
    return targetOf(app.getHttpServer() as Server, async () => {
      await app.close()
      await guard.onApplicationShutdown()
    })
  },
})

function nestModule(reached: Reached): Type {
  class Paths {
    login(): string {
      return seen(reached, 'login')
    }
    report(): string {
      return seen(reached, 'report')
    }
    user(): string {
      return seen(reached, 'user')
    }
  }
  Controller()(Paths)
  decorated(Paths, 'login', Get('login'))
  decorated(Paths, 'report', Get('Report'))
  decorated(Paths, 'user', Get('users/:id'))
  class Whole {}
  Module({ controllers: [Paths] })(Whole)
  return Whole
}

function seen(reached: Reached, handler: string): string {
  reached.push(handler)
  return handler
}

const LOOSE = { caseSensitive: false, ignoreTrailingSlash: true, ignoreDuplicateSlashes: true }

/** APPS are behind limiters of every adapter, with routers as strict and as loose as they can be. */
export const APPS: readonly App[] = [
  expressApp,
  fastifyApp('Fastify', {}),
  fastifyApp('Fastify, loose', { routerOptions: { ...LOOSE, useSemicolonDelimiter: true } }),
  honoApp('Hono', {}),
  honoApp('Hono, loose', { strict: false }),
  koaApp('Koa', findHandler),
  koaApp('Koa, loose', findLoosely),
  fetchApp('fetch', findHandler),
  fetchApp('fetch, loose', findLoosely),
  nestApp('Nest on Express', () => new ExpressAdapter()),
  nestApp('Nest on Fastify', () => new FastifyAdapter()),
  nestApp('Nest on Fastify, loose', () => new FastifyAdapter({ routerOptions: LOOSE } as never)),
]
