import fastify from 'fastify'
import { Hono } from 'hono'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Observer } from '../engine/observer.ts'
import { runApp } from './express/express-app.suite.ts'
import { rateLimit as expressLimit } from './express/index.ts'
import fastifyLimit from './fastify/index.ts'
import { rateLimiter as honoLimit } from './hono/index.ts'
import { rateLimit as koaLimit } from './koa/index.ts'
import { koaApp, serveKoa } from './koa/koa-app.suite.ts'

type Get = () => Promise<unknown>

/** The libraries that people come from: each starts an app with a limit of 1 a minute, in that library's options. */
const FACADES: [library: string, start: (observer: Observer) => Promise<Get>][] = [
  [
    'express-rate-limit',
    async (observer) => {
      const app = await runApp(expressLimit({ windowMs: 60_000, max: 1, observer }))
      onTestFinished(() => app.close())
      return app.get
    },
  ],
  [
    '@fastify/rate-limit',
    async (observer) => {
      const app = fastify()
      onTestFinished(() => app.close())
      await app.register(fastifyLimit, { max: 1, timeWindow: 60_000, observer })
      app.get('/', () => 'Hi there!')
      return () => app.inject('/')
    },
  ],
  [
    'hono-rate-limiter',
    async (observer) => {
      const app = new Hono()
      app.use(honoLimit({ windowMs: 60_000, limit: 1, keyGenerator: () => 'a', observer }))
      app.get('/', (c) => c.text('Hi there!'))
      return async () => app.request('/')
    },
  ],
  [
    'koa-ratelimit',
    async (observer) => {
      const limit = koaLimit({ driver: 'memory', db: new Map(), max: 1, duration: 60_000, id: () => 'a', observer })
      const client = await serveKoa(koaApp([limit]))
      onTestFinished(() => client.close())
      return client.get
    },
  ],
]

describe.each(FACADES)('with the options of %s', (_, start) => {
  it('an observer hears of every decision, under the real limit', async () => {
    const told: unknown[] = []
    const get = await start({
      decided: (charges, { allowed, tightest }, ms) => {
        expect(ms).toBeGreaterThanOrEqual(0)
        for (const { domain, rule } of charges) told.push([domain, rule.limit.max, tightest?.verdict.kind, allowed])
      },
    })
    await get()
    await get()
    expect(told).toEqual([
      ['hits', 1, 'allowed', true],
      ['hits', 1, 'refused', false],
    ])
  })
})
