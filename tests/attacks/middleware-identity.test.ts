import { afterEach, describe, expect, it } from 'vitest'
import { APPS, type AttackOptions, type Target } from './middleware-apps.suite.ts'

let running: Target | undefined

afterEach(async () => {
  await running?.close()
  running = undefined
})

const broken = (): never => {
  throw new Error('broken')
}
const rejected = (): Promise<never> => Promise.reject(new Error('broken'))
const said = (value: unknown) => (): never => value as never
const TEAM: AttackOptions['rules'] = {
  domain: 'app',
  descriptors: [{ key: 'team', rate_limit: { unit: 'hour', requests_per_unit: 1 } }],
}
const team = (value: unknown) => () => [{ entries: [{ key: 'team', value: value as string }] }]

/** What an app's functions may do wrong. Each has a limit of 1. */
const MISTAKES: readonly (readonly [name: string, options: AttackOptions])[] = [
  ...(['user', 'tenant', 'tier'] as const).flatMap((name) =>
    [broken, rejected, said({}), said([]), said(Number.NaN), said(Symbol('a'))].map(
      (wrong, i) => [`identity.${name}, ${i}`, { identity: { [name]: wrong } }] as const,
    ),
  ),
  ...[broken, rejected, said({}), said(Number.NaN)].map((by, i) => [`by, ${i}`, { by }] as const),
  ...[broken, rejected, said(Number.NaN), said(-1), said('9'), said(undefined), said(Number.POSITIVE_INFINITY)].map(
    (limit, i) => [`limit, ${i}`, { limit }] as const,
  ),
  ...[broken, rejected, said(Number.NaN), said(-5), said('0'), said(undefined), said(0.1)].map(
    (cost, i) => [`cost, ${i}`, { cost }] as const,
  ),
  ...[broken, rejected, said('no'), said({}), said(1)].map((skip, i) => [`skip, ${i}`, { skip }] as const),
  ['identity.jwt', { identity: { jwt: { verify: broken } } }],
  ['identity.apiKey.verify', { identity: { apiKey: { verify: rejected } } }],
]

/** What an app's `descriptors` may do wrong, with a rule about teams. */
const DESCRIPTORS = [
  broken,
  rejected,
  said(undefined),
  said([{}]),
  said([{ entries: [{ key: 'team' }] }]),
  team(undefined),
  team({}),
  team(null),
]

describe.each(APPS)('a limit of one, in an app on $name', (app) => {
  /** Says how many of three requests pass. */
  const passed = async (options: AttackOptions, headers: (i: number) => Record<string, string>): Promise<number> => {
    running = await app.start({ onError: () => {}, ...options }, [])
    const statuses: number[] = []
    for (let i = 0; i < 3; i++) statuses.push(await running.send('/login', headers(i)))
    await running.close()
    running = undefined
    return statuses.filter((status) => status === 200).length
  }
  const withKey = (i: number): Record<string, string> => ({ authorization: `Bearer token${i}` })

  it('is not escaped by a made-up key next to a valid one', async () => {
    const options: AttackOptions = { limit: 1, window: '1d', identity: { apiKey: { query: 'key' } } }
    expect(await passed(options, (i) => ({ authorization: 'Bearer good', 'x-api-key': `made-up-${i}` }))).toBe(1)
    expect(await passed(options, (i) => ({ 'x-api-key': 'good', authorization: `Bearer made-up-${i}` }))).toBe(1)
  })

  it('is not switched off by functions of the app that fail, or return nonsense', async () => {
    for (const [name, options] of MISTAKES) {
      expect([name, await passed({ limit: 1, window: '1d', ...options }, withKey)]).toEqual([name, 1])
    }
  })

  it('is not switched off by descriptors that fail, or are nonsense', async () => {
    for (const [i, descriptors] of DESCRIPTORS.entries()) {
      const count = await passed({ rules: TEAM, descriptors }, withKey)
      expect([i, count <= 1]).toEqual([i, true])
    }
  })

  it('is not switched off by anything that a client can send', async () => {
    const told: unknown[] = []
    const rules: AttackOptions['rules'] = {
      domain: 'app',
      descriptors: ['ip', 'path', 'method', 'user', 'api_key', 'tenant'].map((key) => ({
        key,
        rate_limit: { unit: 'hour', requests_per_unit: 1_000 },
      })),
    }
    const identity = { apiKey: { query: 'key' }, trustedProxies: ['loopback'], user: () => 'u' }
    const options: AttackOptions = { rules, identity, onError: (error) => void told.push(error) }
    running = await app.start(options, [])
    for (const target of TARGETS)
      for (const method of ['GET', 'PURGE', 'OPTIONS']) await running.send(target, {}, method)
    for (const text of TEXTS) {
      for (const name of ['x-forwarded-for', 'forwarded', 'x-api-key', 'authorization', 'accept', 'host']) {
        await running.send('/login', { [name]: text })
        await running.send('/login', { [name]: `Bearer ${text}` })
      }
    }
    expect(told).toEqual([])
  })
})

const TEXTS = [
  '',
  ',',
  ', ,;=',
  '__proto__',
  'constructor',
  '[::1',
  '::ffff:999.1.1.1',
  '%00%zz',
  '\u00ff\u00fe',
  'unknown, _hidden, "',
  'for="[::1]:x";by=',
  '*/*;q=x, application/problem+json;q=2',
  '='.repeat(9_000),
  '1.2.3.4, '.repeat(1_000),
]

const TARGETS = [
  '*',
  '/%',
  '/%zz%E0%A4%A',
  '/%ED%A0%80',
  '/__proto__',
  '/constructor?key=__proto__',
  '/login?key=%00&key=%zz&key=',
  `/login?${'key=a&'.repeat(500)}`,
  `/${'a'.repeat(9_000)}`,
  `/${'%41'.repeat(3_000)}`,
  `/${'../'.repeat(3_000)}`,
  '/|{}=%7C',
  '/\\..\\',
  'http://',
  'http://[/login',
  'http://x:99999999/login',
  'a://b',
  '//',
  '/\u00e9\u00ff',
]
