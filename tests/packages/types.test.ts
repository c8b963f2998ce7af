import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { apiPath, type Compiler, compilerPath, installCompilers } from './compilers.suite.ts'
import { type Packed, Project, pack } from './project.suite.ts'

/** An app in ES modules, and with other extensions in CommonJS. */
const APP = `import express from 'express'
import Koa from 'koa'
import { createLimiter, rateLimit, type RateLimitOptions, type RuleFile, SluiceError, type Verdict } from 'sluice'
import hitLimit, { type HitOptions, MemoryStore, SluiceStore } from 'sluice/compat/express-rate-limit'
import koaHits from 'sluice/compat/koa-ratelimit'
import expressLimit, { type PlainOptions, rateLimit as named } from 'sluice/express'
import { type FetchOptions, protect } from 'sluice/fetch'
import koaLimit, { rateLimit as koaNamed } from 'sluice/koa'
import { prometheus } from 'sluice/prometheus'

const options: RateLimitOptions = { limit: 2, window: '1m' }
const verdict: Verdict = rateLimit(options).check('a')
export const waitMs: number = verdict.kind === 'refused' ? verdict.retryAfterMs : 0
rateLimit({ limit: 1, window: '1m', observer: prometheus({ door: 'a' }), onDecision: ({ rule, ms }) => console.log(rule, ms.toFixed()) })
// @ts-expect-error: there is no such option
rateLimit({ limt: 2 })
const rules: RuleFile = { domain: 'api', descriptors: [{ key: 'ip', rate_limit: { unit: 'minute', requests_per_unit: 2 } }] }
createLimiter({ rules }).check({ domain: 'api', descriptors: [{ entries: [{ key: 'ip', value: '::1' }] }] })
export const codeOf = (error: unknown): string | undefined => (error instanceof SluiceError ? error.code : undefined)

const fetchOptions: FetchOptions = { limit: 1, window: '1s' }
export const GET = protect(async (request: Request) => new Response(request.url), fetchOptions)

const plain: PlainOptions = { limit: 1, window: '1m' }
const hits: HitOptions = { limit: 1, windowMs: 1000, store: new MemoryStore() }
export const app = express().use(expressLimit(plain)).use(named(plain)).use(hitLimit(hits)).use(hitLimit({ store: new SluiceStore() }))
export const koa = new Koa().use(koaLimit({ limit: 1, window: '1m' })).use(koaNamed({ limit: 1, window: '1m' })).use(koaHits({ max: 1 }))
// @ts-expect-error: it has none
export const none = expressLimit(plain).noSuchFunction()
`

/** What require returns is the function itself where a default export is the main thing, with everything else on it. */
const REQUIRED = `import express = require('express')
import koaLimit = require('sluice/koa')
import hitLimit = require('sluice/compat/express-rate-limit')
import rateLimit = require('sluice/express')

const options: rateLimit.PlainOptions = { limit: 1, window: '1m' }
const store: hitLimit.MemoryStore = new hitLimit.MemoryStore()
express().use(rateLimit(options)).use(rateLimit.rateLimit(options)).use(rateLimit.default(options))
express().use(hitLimit({ windowMs: 1, store })).use(hitLimit.rateLimit({ windowMs: 1 }))
koaLimit({ limit: 1, window: '1m' })
`

/** The types of these frameworks alone take a compiler seconds. */
const OTHERS = `import Fastify from 'fastify'
import { Hono } from 'hono'
import fastifyHits from 'sluice/compat/fastify-rate-limit'
import { rateLimiter } from 'sluice/compat/hono-rate-limiter'
import { rateLimit } from 'sluice/fastify'
import { opentelemetry } from 'sluice/opentelemetry'
import { rateLimit as honoLimit, type RateLimitVariable } from 'sluice/hono'

const fastify = Fastify()
void fastify.register(fastifyHits, { max: 1, timeWindow: '1 minute' })
void fastify.register(rateLimit, { limit: 1, window: '1m', observer: opentelemetry() })
fastify.get('/', async (request) => request.rateLimit.remaining + request.rateLimit.resetTime.getTime())
new Hono().use(honoLimit({ limit: 1, window: '1m' })).use(rateLimiter({ limit: 1, windowMs: 1 })).get('/', (c) => {
  const said: RateLimitVariable = c.get('rateLimit')
  // @ts-expect-error: it is a number
  const wrong: string = c.var.rateLimit.remaining
  return c.json([said.remaining, said.limit, said.decision.allowed, wrong])
})
`

const NEST = `import { SluiceGuard, SluiceModule } from 'sluice/nest'

export const module = SluiceModule.forRoot({ limit: 1, window: '1m' })
export const guard = SluiceGuard
`

const CLIENT = `import { createFetch, parseRateLimits, type PacedFetchOptions, RateLimitError, shareTabs } from 'sluice-client'
import { type CheckDecision, createCheckClient } from 'sluice-client/check'
import { createLedgerClient, type NotPaid } from 'sluice-client/ledger'

const options: PacedFetchOptions = { deadlineMs: 1000, share: shareTabs('a'), on: { waited: ({ waitedMs }) => console.log(waitedMs.toFixed()) } }
const fetch = createFetch(options)
export const status = async (): Promise<number> => (await fetch('https://a.example', { rateLimit: { cost: { tokens: 5 } } })).status
// @ts-expect-error: there is no such option
createFetch({ deadline: 1 })
export const left: number | undefined = parseRateLimits(new Headers()).budgets[0]?.remaining
export const at = (error: unknown): Date | undefined => (error instanceof RateLimitError ? error.retryAt : undefined)
const client = createCheckClient({ url: 'http://localhost:8080', onFailure: 'closed' })
const request = { domain: 'api', descriptors: [{ entries: [{ key: 'a', value: 'b' }] }] }
export const decided: Promise<CheckDecision> = client.check(request)
export const held: Promise<number> = client.hold(request, ({ signal }) => (signal.aborted ? 0 : 1))
const ledger = createLedgerClient({ url: 'http://localhost:8082', token: 't' })
const asked = { customer: 'acme', meter: 'exports', amount: 5 }
export const short = async (): Promise<NotPaid | undefined> => {
  const reserved = await ledger.reserve(asked)
  if (!reserved.paid) return reserved
  // @ts-expect-error: how much was used
  await reserved.commit()
  await reserved.commit(3)
}
export const worked: Promise<string> = ledger.hold(asked, (hold) => { hold.used = 2; return hold.id })
`

const FILES = {
  'client.mts': CLIENT,
  'client.cts': CLIENT,
  'client.ts': CLIENT,
  'app.mts': APP,
  'app.cts': APP,
  'app.ts': APP,
  'required.cts': REQUIRED,
  'others.mts': OTHERS,
  'others.cts': OTHERS,
  'nest.mts': NEST,
}
const PEERS = [
  'prom-client',
  'express',
  'koa',
  'fastify',
  'hono',
  '@nestjs/common',
  '@nestjs/core',
  '@nestjs/throttler',
  '@opentelemetry/api',
]
const TYPES = ['@types/node', '@types/express', '@types/koa', 'reflect-metadata', 'rxjs']

let packed: Packed
let project: Project
beforeAll(async () => {
  await installCompilers()
  packed = await pack()
  project = new Project()
    .install(packed.library)
    .install(packed.client)
    .link(...PEERS, ...TYPES)
    .write(FILES)
}, 600_000)
afterAll(() => {
  project?.remove()
})

interface Case {
  readonly compiler: Compiler
  readonly resolution: string
  readonly files: readonly (keyof typeof FILES)[]
  readonly skipLibCheck?: boolean
}

/** Before 5.8, nodenext was another name for node16. What a bundler finds is the same from the oldest compiler to the newest. */
const BOTH_KINDS: readonly Case[] = (
  [
    ['5.0', 'node16'],
    ['5.4', 'node16'],
    ['5.9', 'nodenext'],
    ['7', 'node16'],
    ['7', 'nodenext'],
  ] as const
).map(([compiler, resolution]) => ({
  compiler,
  resolution,
  files: ['app.mts', 'app.cts', 'required.cts', 'client.mts', 'client.cts'],
}))

const ONE_KIND: readonly Case[] = (
  [
    ['5.0', 'node'],
    ['5.0', 'bundler'],
    ['7', 'bundler'],
  ] as const
).map(([compiler, resolution]) => ({ compiler, resolution, files: ['app.ts', 'client.ts'] }))

const FRAMEWORKS: readonly Case[] = [
  { compiler: '5.0', resolution: 'node16', files: ['others.mts'], skipLibCheck: true },
  { compiler: '5.9', resolution: 'node16', files: ['others.cts'], skipLibCheck: true },
  { compiler: '7', resolution: 'node16', files: ['others.mts', 'nest.mts'], skipLibCheck: true },
]

const CASES = [...BOTH_KINDS, ...ONE_KIND, ...FRAMEWORKS]

const CHECK = fileURLToPath(new URL('./compile.mjs', import.meta.url))

function configOf({ compiler, resolution, files, skipLibCheck = false }: Case): string {
  const module = { bundler: 'esnext', node: 'commonjs' }[resolution] ?? resolution
  const strict = { strict: true, esModuleInterop: true, target: 'es2022', types: ['node'], noEmit: true }
  const compilerOptions = { module, moduleResolution: resolution, skipLibCheck, skipDefaultLibCheck: true, ...strict }
  const config = `tsconfig.${compiler}.${resolution}.${files[0]}.json`
  project.write({ [config]: JSON.stringify({ compilerOptions, files }) })
  return config
}

/** Compiles files, and returns what is wrong with them and with our declarations, not with those of others. */
async function problemsOf(each: Case): Promise<readonly string[]> {
  if (each.compiler === '7') return problemsOfProgram(configOf(each))
  checked[each.compiler] ??= problemsOfModule(each.compiler)
  const problems = (await checked[each.compiler])?.get(each)
  if (problems === undefined) throw new Error(`TypeScript ${each.compiler} has not compiled ${each.files}`)
  return problems
}

/** The compiler of this project with the least work, as scripts/compiler.mjs runs it. */
async function problemsOfProgram(config: string): Promise<string[]> {
  const args = [compilerPath('7'), '-p', config, '--singleThreaded']
  const { code, stdout } = await project.runWith({ GOGC: '400' }, ...args)
  const problems = stdout.split('\n').filter((line) => line.includes('error TS'))
  if (code !== 0 && problems.length === 0) return [stdout]
  return problems.filter((line) => !/^(\.\.\/|node_modules\/(?!sluice(-client)?\/))/.test(line))
}

type Old = Exclude<Compiler, '7'>

/** What each of the old compilers has found in all of its cases: most of its time is for the declarations of others. */
const checked: Partial<Record<Old, Promise<ReadonlyMap<Case, string[]>>>> = {}

async function problemsOfModule(compiler: Old): Promise<ReadonlyMap<Case, string[]>> {
  const cases = CASES.filter((each) => each.compiler === compiler)
  const { code, stdout, stderr } = await project.run(CHECK, apiPath(compiler), ...cases.map(configOf))
  const found: string[][] = code === 0 ? JSON.parse(stdout) : cases.map(() => [stderr])
  return new Map(cases.map((each, i) => [each, found[i]]))
}

describe('TypeScript', { timeout: 600_000 }, () => {
  it.each(BOTH_KINDS)('$compiler understands the package in both kinds of modules with $resolution', async (each) => {
    expect(await problemsOf(each)).toEqual([])
  })

  it.each(ONE_KIND)('$compiler understands the package with $resolution', async (each) => {
    expect(await problemsOf(each)).toEqual([])
  })

  it.each(FRAMEWORKS)('$compiler understands the frameworks of $files', async (each) => {
    expect(await problemsOf(each)).toEqual([])
  })
})
