import { request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  Controller,
  type DynamicModule,
  Get,
  HttpException,
  type INestApplication,
  Module,
  Req,
  type Type,
} from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import type { NestRequest } from './index.ts'

/** The platforms that Nest runs on. */
export const PLATFORMS = [
  ['Express', () => new ExpressAdapter()],
  ['Fastify', () => new FastifyAdapter({ forceCloseConnections: true })],
] as const

export type Platform = (typeof PLATFORMS)[number][1]

/** What a client got. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A Nest app on a port of its own. */
export interface RunningApp {
  readonly app: INestApplication
  get(path?: string, headers?: Readonly<Record<string, string>>, method?: string): Promise<Answer>
  statuses(count: number, path?: string): Promise<number[]>
  /** Opens a request whose answer the test does not wait for; it can be left. */
  visit(path: string): { leave(): void }
  /** How many requests have reached /hang. */
  hanging(): number
  close(): Promise<void>
}

/** Applies decorators to a method: what `@Get() name()` does where a compiler knows decorators. */
export function decorated(type: Type, method: string, ...decorators: readonly MethodDecorator[]): void {
  const descriptor = Object.getOwnPropertyDescriptor(type.prototype, method)
  for (const decorate of decorators) decorate(type.prototype, method, descriptor as PropertyDescriptor)
}

/** Makes a controller: / answers, /left tells of the budget, /error fails, /hang never answers. */
function controllerOf(isHere: () => void): Type {
  class Cats {
    list(): string {
      return 'cats'
    }
    left(request: NestRequest & { rateLimit?: { remaining: number } }): object {
      return { remaining: request.rateLimit?.remaining }
    }
    error(): never {
      throw new HttpException('wrong', 400)
    }
    hang(): Promise<never> {
      isHere()
      return new Promise(() => {})
    }
    own(): string {
      return 'own'
    }
    free(): string {
      return 'free'
    }
  }
  Controller()(Cats)
  decorated(Cats, 'list', Get())
  decorated(Cats, 'left', Get('left'))
  Req()(Cats.prototype, 'left', 0)
  decorated(Cats, 'error', Get('error'))
  decorated(Cats, 'hang', Get('hang'))
  decorated(Cats, 'own', Get('own'))
  decorated(Cats, 'free', Get('free'))
  return Cats
}

/** Says what an app has besides its controller. */
export interface Setup {
  readonly imports?: readonly (DynamicModule | Type)[]
  readonly providers?: readonly object[]
  /** Decorates the controller, whose methods are list, left, error, hang, own and free. */
  decorate?(controller: Type): void
  prepare?(app: INestApplication): void
}

/** Starts an app on a platform. */
export async function runApp(
  platform: Platform,
  { imports = [], providers = [], ...more }: Setup,
): Promise<RunningApp> {
  let hanging = 0
  const controller = controllerOf(() => hanging++)
  more.decorate?.(controller)
  class App {}
  Module({ imports: [...imports], controllers: [controller], providers: [...providers] as never[] })(App)
  const app = await NestFactory.create(App, platform(), {
    logger: false,
    abortOnError: false,
    forceCloseConnections: true,
  })
  more.prepare?.(app)
  await app.listen(0, '127.0.0.1')
  const { port } = app.getHttpServer().address() as AddressInfo
  const get: RunningApp['get'] = async (path = '/', headers = {}, method = 'GET') => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers, method })
    return { status: response.status, headers: Object.fromEntries(response.headers), body: await response.text() }
  }
  return {
    app,
    get,
    statuses: async (count, path) => {
      const seen: number[] = []
      for (let i = 0; i < count; i++) seen.push((await get(path)).status)
      return seen
    },
    visit: (path) => {
      const request = httpRequest({ host: '127.0.0.1', port, path, agent: false })
      request.on('error', () => {})
      request.end()
      return { leave: () => request.destroy() }
    },
    hanging: () => hanging,
    close: () => app.close(),
  }
}
