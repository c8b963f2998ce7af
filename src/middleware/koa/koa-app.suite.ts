import { createServer } from 'node:http'
import { Readable } from 'node:stream'
import Koa, { type Context, type Middleware } from 'koa'
import { type Client, Routes, serveHttp } from '../adapter-app.suite.ts'

/** Makes an app with the routes of Routes. */
export function koaApp(middlewares: readonly Middleware[], routes = new Routes()): Koa {
  const app = new Koa()
  app.silent = true
  for (const middleware of middlewares) app.use(middleware)
  app.use(async (ctx) => {
    switch (ctx.path) {
      case '/settle':
        await ctx.state.rateLimit.settle(5)
        ctx.body = 'settled'
        break
      case '/error':
        ctx.status = 400
        break
      case '/throw':
        throw new Error('thrown')
      case '/hang':
        routes.hanging++
        return new Promise(() => {})
      case '/work':
        ctx.body = await routes.work()
        break
      case '/stream':
        ctx.body = Readable.from(routes.chunks(), { objectMode: false })
        break
      default:
        ctx.body = 'Hi there!'
    }
    return undefined
  })
  return app
}

export function serveKoa(app: Koa): Promise<Client> {
  return serveHttp(createServer(app.callback()))
}

export const headerOf = (request: unknown, name: string): string | undefined =>
  (request as Context).get(name) || undefined
