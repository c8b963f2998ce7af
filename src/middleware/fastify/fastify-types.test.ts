import type { FastifyInstance, FastifyPluginCallback, FastifyRequest, preHandlerAsyncHookHandler } from 'fastify'
import { describe, expectTypeOf, it } from 'vitest'
import * as own from './index.ts'

describe('the types of sluice/fastify', () => {
  it('match a plugin, by every name', () => {
    expectTypeOf(own.default).toExtend<FastifyPluginCallback<own.PlainOptions>>()
    expectTypeOf(own.fastifyRateLimit).toEqualTypeOf(own.default)
    expectTypeOf(own.rateLimit).toEqualTypeOf(own.default)
  })

  it('take functions of the request', () => {
    const register = (app: FastifyInstance): unknown => [
      app.register(own.default, {
        limit: { free: 1, pro: 2 },
        window: '1m',
        identity: { user: (r) => r.headers.from },
      }),
    ]
    expectTypeOf(register).returns.toBeUnknown()
  })

  it('decorate the app, its requests and its routes', () => {
    expectTypeOf<ReturnType<FastifyInstance['rateLimit']>>().toExtend<preHandlerAsyncHookHandler>()
    expectTypeOf<FastifyRequest['rateLimit']>().toEqualTypeOf<own.Budget>()
    const routes = (app: FastifyInstance): unknown => [
      app.get('/plain', { config: { rateLimit: { limit: 3, window: '1m' } } }, () => ''),
      app.get('/none', { config: { rateLimit: false } }, () => ''),
    ]
    expectTypeOf(routes).returns.toBeUnknown()
  })

  it('refuse what is wrong', () => {
    // @ts-expect-error: there is no such hook
    const options: own.PlainOptions = { limit: 1, window: '1m', hook: 'onSend' }
    expectTypeOf(options).toExtend<own.PlainOptions>()
  })
})
