import { createServer } from 'node:http'
import { Controller, Get, Module } from '@nestjs/common'
import { NestFactory, Reflector } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import express from 'express'
import fastify, { type FastifyPluginCallback } from 'fastify'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { targetOf } from './middleware-apps.suite.ts'

const ONE = { limit: 1, window: '1m' } as const
const TRUSTING = { identity: { trustedProxies: 1 } }

beforeEach(() => {
  // Each thing is told once in a process.
  vi.resetModules()
  vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
})

afterEach(() => void vi.restoreAllMocks())

const warnings = (): string[] =>
  vi
    .mocked(process.emitWarning)
    .mock.calls.map(([text]) => String(text))
    .filter((text) => /every client can choose its own address/.test(text))

const ours = () => import('../../src/middleware/fastify/index.ts')
const theirs = () => import('../../src/compat/fastify-rate-limit/index.ts')

async function onFastify(options: object, settings: object, entry: typeof ours | typeof theirs = ours): Promise<void> {
  const limit = (await entry()).default as FastifyPluginCallback
  const app = fastify(settings)
  await app.register(limit, options)
  await app.register(limit, options)
  await app.close()
}

async function onExpress(options: object, trust: unknown): Promise<void> {
  const { rateLimit } = await import('../../src/middleware/express/index.ts')
  const app = express().set('trust proxy', trust).use(rateLimit(options))
  const target = await targetOf(createServer(app))
  await target.send('/')
  await target.send('/')
  await target.close()
}

async function onNest(options: object, platform: ExpressAdapter | FastifyAdapter, trust?: unknown): Promise<void> {
  const { SluiceGuard } = await import('../../src/middleware/nest/index.ts')
  class Paths {
    hello(): string {
      return 'hello'
    }
  }
  Controller()(Paths)
  Get()(Paths.prototype, 'hello', Object.getOwnPropertyDescriptor(Paths.prototype, 'hello') as PropertyDescriptor)
  class App {}
  Module({ controllers: [Paths] })(App)
  const app = await NestFactory.create(App, platform as never, { logger: false })
  if (trust !== undefined) app.getHttpAdapter().getInstance().set('trust proxy', trust)
  const guard = new SluiceGuard(options as never, new Reflector())
  app.useGlobalGuards(guard)
  await app.init()
  await app.getHttpAdapter().getInstance().ready?.()
  const target = await targetOf(app.getHttpServer(), () => app.close())
  await target.send('/')
  await target.send('/')
  await target.close()
  await guard.onApplicationShutdown()
}

describe('an app that believes every proxy is warned about once', () => {
  it.each<[string, () => Promise<void>]>([
    ['Fastify', () => onFastify(ONE, { trustProxy: true })],
    ['Fastify, with the options of @fastify/rate-limit', () => onFastify({ max: 1 }, { trustProxy: true }, theirs)],
    ['Nest on Fastify', () => onNest(ONE, new FastifyAdapter({ trustProxy: true }))],
    ['Nest on Express', () => onNest(ONE, new ExpressAdapter(), true)],
    ['Express', () => onExpress(ONE, true)],
  ])('%s', async (_, run) => {
    await run()
    expect(warnings()).toHaveLength(1)
  })
})

describe('an app that says whom to trust is not warned about', () => {
  it.each<[string, () => Promise<void>]>([
    ['Fastify', () => onFastify(ONE, { trustProxy: 1 })],
    ['Fastify, without proxies', () => onFastify(ONE, {})],
    ['Fastify, by options', () => onFastify({ ...ONE, ...TRUSTING }, { trustProxy: true })],
    ['Fastify, with its own key', () => onFastify({ max: 1, keyGenerator: () => 'k' }, { trustProxy: true }, theirs)],
    ['Nest on Fastify', () => onNest({ ...ONE, ...TRUSTING }, new FastifyAdapter({ trustProxy: true }))],
    ['Nest on Express', () => onNest(ONE, new ExpressAdapter(), 1)],
    ['Express', () => onExpress(ONE, 1)],
  ])('%s', async (_, run) => {
    await run()
    expect(warnings()).toEqual([])
  })
})
