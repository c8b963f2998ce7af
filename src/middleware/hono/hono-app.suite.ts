import type { Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { type Client, gotOf, Routes, serveHttp } from '../adapter-app.suite.ts'

/** Makes an app with the routes of Routes. */
export function honoApp(middlewares: readonly MiddlewareHandler[], routes = new Routes()): Hono {
  const app = new Hono()
  for (const middleware of middlewares) app.use(middleware)
  app.onError((_error, c) => c.text('failed', 500))
  app.all('/', (c) => c.text('Hi there!'))
  app.get('/settle', async (c) => {
    await c.get('rateLimit').settle(5)
    return c.text('settled')
  })
  app.get('/error', (c) => c.text('Error!', 400))
  app.get('/throw', () => {
    throw new Error('thrown')
  })
  app.get('/hang', () => {
    routes.hanging++
    return new Promise<Response>(() => {})
  })
  app.get('/work', async (c) => c.text(await routes.work()))
  app.get('/stream', () => new Response(routes.stream()))
  app.get('/elsewhere', () => Response.redirect('http://localhost/', 302))
  return app
}

/** Serves an app by @hono/node-server. */
export function onNode(app: Hono): Promise<Client> {
  return serveHttp(createAdaptorServer(app) as Server)
}

/** Calls an app as a runtime of the Web's standards does. */
export function onWeb(app: Hono, env: object = { remoteAddr: { hostname: '127.0.0.1' } }): Client {
  return {
    get: async (path = '/', headers = {}, method = 'GET') =>
      gotOf(await app.request(`http://localhost${path}`, { headers: { ...headers }, method }, env)),
    visit: (path, headers = {}) => {
      const controller = new AbortController()
      const request = new Request(`http://localhost${path}`, { headers: { ...headers }, signal: controller.signal })
      const answered = Promise.resolve(app.fetch(request, env))
      const reading = answered.then((response) => {
        const reader = response.body?.getReader()
        controller.signal.addEventListener('abort', () => void reader?.cancel())
        return reader?.read()
      })
      reading.catch(() => {})
      return { leave: async () => controller.abort() }
    },
    close: async () => {},
  }
}

export const headerOf = (request: unknown, name: string): string | undefined => (request as Context).req.header(name)
