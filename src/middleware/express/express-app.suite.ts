import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import express, { type Express, type RequestHandler } from 'express'

/** What a client got. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** An Express app on a port of its own, with a few routes behind the middlewares under test. */
export interface RunningApp {
  readonly app: Express
  readonly port: number
  /** Returns an answer when the server is done with it, so that what a middleware does at the end has happened. */
  get(path?: string, headers?: Readonly<Record<string, string>>, method?: string): Promise<Answer>
  /** Opens a request whose answer the test does not wait for; it can be left. */
  visit(path: string): { leave(): void }
  /** How many requests have reached /hang. */
  hanging(): number
  close(): Promise<void>
}

/** Starts an app with routes: / answers 200, /error 400, /crash breaks the connection, /hang never answers. */
export async function runApp(...middlewares: readonly RequestHandler[]): Promise<RunningApp> {
  const app = express()
  app.set('env', 'test')
  app.disable('x-powered-by')
  let visits = 0
  const ends = new Map<string, () => void>()
  app.use((request, response, next) => {
    response.once('close', () => setImmediate(() => ends.get(String(request.headers['x-visit']))?.()))
    next()
  })
  app.use(...(middlewares as [RequestHandler]))
  app.all('/', (_, response) => void response.send('Hi there!'))
  app.get('/error', (_, response) => void response.sendStatus(400))
  app.get('/crash', (_, response) => {
    const error = new Error('crashed')
    response.destroy(error)
    response.emit('error', error)
  })
  let hanging = 0
  app.get('/hang', () => void hanging++)
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    app,
    port,
    get: async (path = '/', headers = {}, method = 'GET') => {
      const visit = String(++visits)
      const ended = new Promise<void>((resolve) => void ends.set(visit, resolve))
      const url = `http://127.0.0.1:${port}${path}`
      const response = await fetch(url, { headers: { ...headers, 'x-visit': visit }, method })
      const answer = {
        status: response.status,
        headers: Object.fromEntries(response.headers),
        body: await response.text(),
      }
      await ended
      return answer
    },
    visit: (path) => {
      const request = httpRequest({ host: '127.0.0.1', port, path, agent: false })
      request.on('error', () => {})
      request.end()
      return { leave: () => request.destroy() }
    },
    hanging: () => hanging,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
