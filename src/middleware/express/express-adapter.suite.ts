import { createServer } from 'node:http'
import { Readable } from 'node:stream'
import express, { type Express, type Request, type RequestHandler } from 'express'
import type { Budget } from '../../http-door/budget.ts'
import { type AdapterUnderTest, type Routes, serveHttp } from '../adapter-app.suite.ts'
import { type PlainOptions, rateLimit } from './index.ts'

export const expressAdapter: AdapterUnderTest = {
  name: 'sluice/express',
  start: async (options, routes) => {
    const limiters = options.map((each) => rateLimit(each as PlainOptions))
    return { ...(await serveHttp(createServer(appOf(limiters, routes)))), limiters }
  },
  header: (request, name) => (request as Request).get(name),
}

/** Makes an app with the routes of Routes. */
function appOf(middlewares: readonly RequestHandler[], routes: Routes): Express {
  const app = express()
  // Express prints the errors of handlers anywhere but in tests.
  app.set('env', 'test')
  for (const middleware of middlewares) app.use(middleware)
  app.get('/settle', async (request, response) => {
    await (request as unknown as { rateLimit: Budget }).rateLimit.settle(5)
    response.send('settled')
  })
  app.get('/error', (_, response) => void response.sendStatus(400))
  app.get('/throw', () => {
    throw new Error('thrown')
  })
  app.get('/hang', () => void routes.hanging++)
  app.get('/work', async (_, response) => void response.send(await routes.work()))
  app.get('/stream', (_, response) => void Readable.from(routes.chunks(), { objectMode: false }).pipe(response))
  app.all('/', (_, response) => void response.send('Hi there!'))
  return app
}
