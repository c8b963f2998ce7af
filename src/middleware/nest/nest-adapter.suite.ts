import type { Server } from 'node:http'
import { Readable } from 'node:stream'
import { Controller, Get, HttpException, Module, Req, StreamableFile, type Type } from '@nestjs/common'
import { NestFactory, Reflector } from '@nestjs/core'
import type { Budget } from '../../http-door/budget.ts'
import { headerText } from '../../http-door/request-reader.ts'
import { type AdapterUnderTest, type Routes, serveHttp } from '../adapter-app.suite.ts'
import { type NestRequest, SluiceGuard, type SluiceOptions } from './index.ts'
import { decorated, PLATFORMS } from './nest-app.suite.ts'

export const nestAdapters: readonly AdapterUnderTest[] = PLATFORMS.map(([name, platform]) => ({
  name: `sluice/nest on ${name}`,
  start: async (options, routes) => {
    const guards = options.map((each) => new SluiceGuard(each as SluiceOptions, new Reflector()))
    const app = await NestFactory.create(appOf(routes), platform(), { logger: false, abortOnError: false })
    app.useGlobalGuards(...guards)
    await app.init()
    // Fastify takes no requests before.
    await app.getHttpAdapter().getInstance().ready?.()
    const client = await serveHttp(app.getHttpServer() as Server, () => app.close())
    const limiters = guards.map((guard) => ({
      reset: (caller: object) => guard.reset(caller),
      close: () => guard.onApplicationShutdown(),
    }))
    return { ...client, limiters }
  },
  jsonCharset: '; charset=utf-8',
  header: (request, name) => headerText((request as NestRequest).headers[name]),
}))

/** Makes an app with the routes of Routes. */
function appOf(routes: Routes): Type {
  class Paths {
    hello(): string {
      return 'Hi there!'
    }
    async settle(request: NestRequest & { readonly rateLimit: Budget }): Promise<string> {
      await request.rateLimit.settle(5)
      return 'settled'
    }
    error(): never {
      throw new HttpException('wrong', 400)
    }
    fail(): never {
      throw new Error('thrown')
    }
    hang(): Promise<never> {
      routes.hanging++
      return new Promise(() => {})
    }
    work(): Promise<string> {
      return routes.work()
    }
    stream(): StreamableFile {
      return new StreamableFile(Readable.from(routes.chunks(), { objectMode: false }))
    }
  }
  Controller()(Paths)
  decorated(Paths, 'hello', Get())
  decorated(Paths, 'settle', Get('settle'))
  Req()(Paths.prototype, 'settle', 0)
  decorated(Paths, 'error', Get('error'))
  decorated(Paths, 'fail', Get('throw'))
  decorated(Paths, 'hang', Get('hang'))
  decorated(Paths, 'work', Get('work'))
  decorated(Paths, 'stream', Get('stream'))
  class App {}
  Module({ controllers: [Paths] })(App)
  return App
}
