import type { FastifyInstance, FastifyPluginCallback, FastifyRequest, preHandlerAsyncHookHandler } from 'fastify'
import { describe, expectTypeOf, it } from 'vitest'
import * as own from './index.ts'

describe('the types of sluice/compat/fastify-rate-limit', () => {
  it('match a plugin, by every name', () => {
    expectTypeOf(own.default).toExtend<FastifyPluginCallback<own.RateLimitPluginOptions>>()
    expectTypeOf(own.fastifyRateLimit).toEqualTypeOf(own.default)
    expectTypeOf(own.rateLimit).toEqualTypeOf(own.default)
  })

  it('take functions of the request', () => {
    expectTypeOf<own.RateLimitPluginOptions['max']>().toEqualTypeOf<
      number | ((request: FastifyRequest, key: string) => number | Promise<number>) | undefined
    >()
    const register = (app: FastifyInstance): unknown =>
      app.register(own.default, { max: async (request) => request.url.length, timeWindow: '1 minute', ban: 2 })
    expectTypeOf(register).returns.toBeUnknown()
  })

  it('decorate the app and its routes', () => {
    expectTypeOf<ReturnType<FastifyInstance['rateLimit']>>().toExtend<preHandlerAsyncHookHandler>()
    expectTypeOf<ReturnType<FastifyInstance['createRateLimit']>>().toEqualTypeOf<own.RateLimitCheck>()
    const routes = (app: FastifyInstance): unknown => [
      app.get('/own', { config: { rateLimit: { max: 3, timeWindow: 1_000 } } }, () => ''),
      app.get('/none', { config: { rateLimit: false } }, () => ''),
    ]
    expectTypeOf(routes).returns.toBeUnknown()
  })

  it('distinguish a request that is allowed from one that is counted', () => {
    const check = (state: own.RateLimitState): number => (state.isAllowed ? 0 : state.remaining)
    expectTypeOf(check).returns.toBeNumber()
  })
})
