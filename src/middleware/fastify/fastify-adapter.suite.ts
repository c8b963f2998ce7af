import { Readable } from 'node:stream'
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { headerText } from '../../http-door/request-reader.ts'
import { type AdapterUnderTest, type Routes, serveHttp } from '../adapter-app.suite.ts'
import rateLimit, { type PlainOptions } from './index.ts'

export const fastifyAdapter: AdapterUnderTest = {
  name: 'sluice/fastify',
  start: async (options, routes) => {
    const app = fastify()
    for (const each of options) await app.register(rateLimit, each as PlainOptions)
    addRoutes(app, routes)
    await app.ready()
    // The plugin closes its limiters with the app.
    return { ...(await serveHttp(app.server, () => app.close())), limiters: [] }
  },
  cannotReset: 'the plugin has no reset',
  jsonCharset: '; charset=utf-8',
  header: (request, name) => headerText((request as FastifyRequest).headers[name]),
}

/** Gives an app the routes of Routes. */
function addRoutes(app: FastifyInstance, routes: Routes): void {
  app.get('/', async () => 'Hi there!')
  app.get('/settle', async (request) => {
    await request.rateLimit.settle(5)
    return 'settled'
  })
  app.get('/error', async (_, reply) => reply.code(400).send('Error!'))
  app.get('/throw', async () => {
    throw new Error('thrown')
  })
  app.get('/hang', () => {
    routes.hanging++
    return new Promise(() => {})
  })
  app.get('/work', () => routes.work())
  app.get('/stream', async (_, reply) => reply.send(Readable.from(routes.chunks(), { objectMode: false })))
}
