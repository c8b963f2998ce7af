import { Reflector } from '@nestjs/core'
import fastify, { type FastifyPluginCallback } from 'fastify'
import { afterEach, describe, expect, it } from 'vitest'
import * as expressRateLimit from '../compat/express-rate-limit/index.ts'
import * as expressRateLimitForms from '../compat/express-rate-limit/option-forms.ts'
import * as fastifyRateLimit from '../compat/fastify-rate-limit/index.ts'
import * as fastifyRateLimitForms from '../compat/fastify-rate-limit/option-forms.ts'
import * as honoRateLimiter from '../compat/hono-rate-limiter/index.ts'
import * as honoRateLimiterForms from '../compat/hono-rate-limiter/option-forms.ts'
import * as koaRatelimit from '../compat/koa-ratelimit/index.ts'
import * as koaRatelimitForms from '../compat/koa-ratelimit/option-forms.ts'
import { SluiceStorage, SluiceThrottlerGuard } from '../compat/nestjs-throttler/index.ts'
import { THROTTLER_FORMS } from '../compat/nestjs-throttler/throttler-guard.ts'
import type { Forms } from '../core/option-forms.ts'
import { GATE_FORMS } from '../http-door/gate.ts'
import { createLimiter } from '../library/create-limiter.ts'
import { rateLimit as libraryLimit } from '../library/rate-limit.ts'
import { HIT_STORE_FORMS, OBSERVED_FORMS, STORE_FORMS } from '../stores/open/store-forms.ts'
import * as express from './express/index.ts'
import * as expressForms from './express/option-forms.ts'
import * as fastifyLimit from './fastify/index.ts'
import * as fastifyForms from './fastify/option-forms.ts'
import * as fetchLimit from './fetch/index.ts'
import { FETCH_FORMS } from './fetch/options.ts'
import * as hono from './hono/index.ts'
import * as honoForms from './hono/option-forms.ts'
import * as koa from './koa/index.ts'
import * as koaForms from './koa/option-forms.ts'
import { RateLimit, SluiceGuard } from './nest/index.ts'

type Make = (options: object) => unknown

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** registered makes an app whose plugin has options, or whose route has. */
const registeredAs = (plugin: FastifyPluginCallback<never>, options: object, route?: object) => async () => {
  const app = fastify()
  closing.push(() => app.close())
  await app.register(plugin as FastifyPluginCallback, options)
  if (route !== undefined) app.get('/', { config: { rateLimit: route as never } }, () => '')
}
const registered = (options: object, route?: object) => registeredAs(fastifyLimit.rateLimit, options, route)
const registeredHits = (options: object, route?: object) => registeredAs(fastifyRateLimit.rateLimit, options, route)
const throttled: Make = async (options) => {
  const guard = new SluiceThrottlerGuard([options] as never, new SluiceStorage(), new Reflector())
  await guard.onModuleInit()
}

const PLAIN = { limit: 1, window: '1m' }
const RULES = { domain: 'a' }
/** The doors that take the plain options: how they are made, and what they have of their own. */
const PLAIN_DOORS: [string, Make, Forms][] = [
  ['sluice/express', (options) => express.rateLimit(options as never), expressForms.PLAIN_FORMS],
  ['sluice/fastify', (options) => registered(options)(), fastifyForms.PLAIN_FORMS],
  ['a route of sluice/fastify', (options) => registered(PLAIN, options)(), fastifyForms.PLAIN_FORMS],
  ['sluice/hono', (options) => hono.rateLimit(options as never), honoForms.PLAIN_FORMS],
  ['sluice/koa', (options) => koa.rateLimit(options as never), koaForms.PLAIN_FORMS],
  ['sluice/fetch', (options) => fetchLimit.rateLimit(options as never), FETCH_FORMS],
  ['sluice/nest', (options) => new SluiceGuard(options as never, new Reflector()), GATE_FORMS],
  ['a handler of sluice/nest', (options) => RateLimit(options as never), GATE_FORMS],
]
const DOORS: [string, Make, object, Forms][] = [
  ...PLAIN_DOORS.map(([name, make, forms]): [string, Make, object, Forms] => [name, make, PLAIN, forms]),
  [
    'rateLimit of the library',
    (options) => libraryLimit(options as never),
    PLAIN,
    { ...STORE_FORMS, ...OBSERVED_FORMS },
  ],
  [
    'createLimiter',
    (options) => createLimiter(options as never),
    { rules: RULES },
    { ...STORE_FORMS, ...OBSERVED_FORMS },
  ],
  [
    'express-rate-limit',
    (options) => expressRateLimit.rateLimit(options as never),
    { windowMs: 1 },
    expressRateLimitForms.HIT_FORMS,
  ],
  ['@fastify/rate-limit', (options) => registeredHits(options)(), {}, fastifyRateLimitForms.HIT_FORMS],
  ['a route of @fastify/rate-limit', (options) => registeredHits({}, options)(), {}, fastifyRateLimitForms.HIT_FORMS],
  [
    'hono-rate-limiter',
    (options) => honoRateLimiter.rateLimiter(options as never),
    { windowMs: 1 },
    honoRateLimiterForms.HIT_FORMS,
  ],
  [
    'a binding of Cloudflare',
    (options) => honoRateLimiter.rateLimiter(options as never),
    { binding: {} },
    honoRateLimiterForms.BINDING_FORMS,
  ],
  [
    'webSocketLimiter',
    (options) => honoRateLimiter.webSocketLimiter(options as never),
    {},
    honoRateLimiterForms.SOCKET_FORMS,
  ],
  ['koa-ratelimit', (options) => koaRatelimit.rateLimit(options as never), {}, koaRatelimitForms.HIT_FORMS],
  ['@nestjs/throttler', throttled, { ttl: 1, limit: 1 }, THROTTLER_FORMS],
  ['SluiceStorage', (options) => new SluiceStorage(options as never), {}, HIT_STORE_FORMS],
  ['SluiceStore', (options) => new expressRateLimit.SluiceStore(options as never), {}, HIT_STORE_FORMS],
]
/** What may be anything, or is told as the library does it that people come from. */
const FREE = new Set([
  'message',
  'errorMessage',
  'binding',
  'prefix',
  'logLevel',
  'logSerializers',
  'validate',
  'ipv6Subnet',
])

describe.each(DOORS)('%s', (_name, make, base, forms) => {
  const made = async (options: object): Promise<unknown> => make({ ...base, ...options })

  it('refuses every option of another type, by its name', async () => {
    const taken: string[] = []
    for (const option of Object.keys(forms)) {
      const refusal = await made({ [option]: Symbol('wrong') }).then(
        () => 'taken',
        (error: Error) => error.message,
      )
      if (!refusal.includes(option)) taken.push(`${option}: ${refusal}`)
    }
    expect(taken.filter((each) => !FREE.has(each.split(':')[0]))).toEqual([])
  })

  it('refuses an option that there is not, and says which is near', async () => {
    const [name] = Object.keys(forms).filter((option) => option.length > 5 && !FREE.has(option))
    if (_name === 'express-rate-limit') return
    await expect(made({ [`${name}s`]: 1 })).rejects.toThrow(`OPTION_UNKNOWN`)
    await expect(made({ [`${name}s`]: 1 })).rejects.toThrow(`${name}s: unknown option, did you mean "${name}"?`)
  })
})

describe.each(PLAIN_DOORS)('%s', (_name, make) => {
  const made = async (options: object): Promise<unknown> => make({ ...PLAIN, ...options })

  it.each<[object, string]>([
    [{ limit: '2' }, 'LIMIT_INVALID: limit: got "2"; write Number(process.env.X)'],
    [{ limit: Number.NaN }, 'LIMIT_INVALID: limit: got NaN; Number(process.env.X) is NaN'],
    [{ limit: -1 }, 'LIMIT_INVALID: limit: got -1'],
    [{ limit: 0.5 }, 'LIMIT_INVALID: limit: got 0.5'],
    [{ window: 60 }, "DURATION_UNIT_MISSING: window: got 60; write '60s' for seconds"],
    [
      { refund: 'failures' },
      'refund: got "failures", expected failure, success or a function, did you mean "failure"?',
    ],
    [{ by: 'apikey' }, 'GATE_OPTIONS_INVALID: by: got "apikey", expected ip, api_key'],
    [{ onStoreFailure: 'opne' }, 'onStoreFailure: got "opne", expected open, closed or local, did you mean "open"?'],
    [{ limit: undefined, window: undefined, limits: [] }, 'GATE_OPTIONS_INVALID: limits: the list is empty'],
    [{ algorithm: 'sliding' }, 'ALGORITHM_UNKNOWN: algorithm: got "sliding"'],
    [{ brust: 3 }, 'OPTION_UNKNOWN: brust: unknown option, did you mean "burst"?'],
    [{ identity: { apikey: true } }, 'OPTION_UNKNOWN: identity.apikey: unknown option, did you mean "apiKey"?'],
    [
      { identity: { jwt: { secret: 's', audiance: 'a' } } },
      'identity.jwt.audiance: unknown option, did you mean "audience"?',
    ],
    [{ response: { boddy: '' } }, 'OPTION_UNKNOWN: response.boddy: unknown option, did you mean "body"?'],
    [{ domain: 'a' }, 'GATE_OPTIONS_INVALID: domain: requires rules'],
  ])('refuses %o', async (options, message) => {
    await expect(made(options)).rejects.toThrow(message)
  })
})

describe.each(PLAIN_DOORS.filter(([name]) => name !== 'a handler of sluice/nest'))('%s', (_name, make) => {
  const made = async (options: object): Promise<unknown> => make({ window: '1m', limit: 1, ...options })

  it.each<[object, string]>([
    [{ limit: { free: 1, pro: 9 } }, 'limit by tier: requires identity.tier, or identity.jwt and identity.claims.tier'],
    [{ by: 'user' }, "by: 'user': requires identity.user, or identity.jwt"],
    [{ by: ['tenant', 'ip'] }, "by: 'tenant': requires identity.tenant, or identity.jwt and identity.claims.tenant"],
    [{ by: 'api_key' }, "by: 'api_key': requires identity.apiKey"],
    [{ identity: { claims: { tier: 'plan' } } }, 'identity.claims: requires identity.jwt'],
  ])('refuses %o, which no option provides', async (options, message) => {
    await expect(made(options)).rejects.toThrow(message)
  })

  it('takes what an option provides', async () => {
    const tell = () => undefined
    await made({ limit: { free: 1 }, identity: { tier: tell } })
    await made({ by: ['user', 'tenant', 'api_key', 'ip'], identity: { user: tell, tenant: tell, apiKey: true } })
    await made({ by: 'everyone' })
  })
})

describe.each<[string, Make, string]>([
  ['express-rate-limit', (options) => expressRateLimit.rateLimit(options as never), 'limit'],
  ['@fastify/rate-limit', (options) => registeredHits(options)(), 'max'],
  ['hono-rate-limiter', (options) => honoRateLimiter.rateLimiter(options as never), 'limit'],
  ['koa-ratelimit', (options) => koaRatelimit.rateLimit(options as never), 'max'],
  ['@nestjs/throttler', (options) => throttled({ ttl: 1, ...options }), 'limit'],
])('options of %s', (_name, make, limit) => {
  it.each(['2', Number.NaN, -1, 0.5, null])('have no limit of %o', async (value) => {
    const refused = expect(async () => make({ [limit]: value })).rejects
    // Numbers that it ignores are ignored here, with a warning: src/compat/fastify-rate-limit has the tests.
    const isIgnored = value === null || Number.isNaN(value) || value === -1
    if (_name === '@fastify/rate-limit' && isIgnored) await make({ [limit]: value })
    else await refused.toThrow(`GATE_OPTIONS_INVALID: ${_name === '@nestjs/throttler' ? '[0].' : ''}${limit}: got`)
  })
})

describe('an option of ours', () => {
  it.each<[string, string, Make]>([
    ['express-rate-limit', 'sluice/express', (options) => expressRateLimit.rateLimit(options as never)],
    ['@fastify/rate-limit', 'sluice/fastify', (options) => registeredHits(options)()],
    ['a route of @fastify/rate-limit', 'sluice/fastify', (options) => registeredHits({}, options)()],
    ['hono-rate-limiter', 'sluice/hono', (options) => honoRateLimiter.rateLimiter(options as never)],
    ['koa-ratelimit', 'sluice/koa', (options) => koaRatelimit.rateLimit(options as never)],
  ])('is refused among the options of %s, and belongs to %s', async (_name, entry, make) => {
    for (const option of [{ window: '1m' }, { algorithm: 'gcra' }, { limits: [] }, { rules: {} }, { calendar: {} }]) {
      const [name] = Object.keys(option)
      await expect(async () => make(option)).rejects.toThrow(`OPTION_UNKNOWN: ${name}: an option of ${entry}`)
    }
  })
})

describe('an option of another library', () => {
  it.each([
    ['windowMs', "write window: '60s'"],
    ['timeWindow', "write window: '60s'"],
    ['duration', "write window: '60s'"],
    ['max', 'write limit: 100'],
    ['points', 'write limit: 100'],
  ])('%s is named as it is here', (name, hint) => {
    expect(() => express.rateLimit({ ...PLAIN, [name]: 1 })).toThrow(`OPTION_UNKNOWN: ${name}: unknown option, ${hint}`)
  })
})
