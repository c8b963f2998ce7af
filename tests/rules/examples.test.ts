import { describe, expect, it } from 'vitest'
import type { HeldPermits } from '../../src/engine/ports.ts'
import { exampleScene, type Scene, standings } from './examples.suite.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** Counts how many of a number of requests pass. */
function admitted(scene: Scene, count: number, descriptors: (i: number) => string | string[], cost?: number): number {
  let passed = 0
  for (let i = 0; i < count; i++) if (scene.check(descriptors(i), cost).allowed) passed++
  return passed
}

/** Takes up to a number of permits, and returns them. */
function acquired(scene: Scene, count: number, descriptor: string): HeldPermits[] {
  const held = Array.from({ length: count }, () => scene.limiter.acquire(scene.request(descriptor)))
  return held.map(({ permits }) => permits).filter((permits) => permits !== undefined)
}

describe('server/examples/quickstart.yaml', () => {
  it('gives every user 5 requests a minute, and each address a burst of 50, then 10 a second', () => {
    const scene = exampleScene('quickstart')
    expect(admitted(scene, 8, () => 'user=alice')).toBe(5)
    expect(admitted(scene, 8, () => 'user=bob')).toBe(5)
    expect(admitted(scene, 80, () => 'ip=203.0.113.9')).toBe(50)
    scene.advance(1_000)
    expect(admitted(scene, 80, () => 'ip=203.0.113.9')).toBe(10)
  })

  it('has two limits for orders: 2 a minute and 100 a day', () => {
    const scene = exampleScene('quickstart')
    const order = 'user=alice, endpoint=POST /orders'
    expect(admitted(scene, 4, () => order)).toBe(2)
    let passed = 2
    for (let minutes = 2; minutes < 200; minutes += 2) {
      scene.advance(2 * MINUTE_MS)
      passed += admitted(scene, 4, () => order)
    }
    expect([passed, scene.check(order).tightest?.rule.name]).toEqual([100, 'orders-daily'])
    expect(scene.check('user=alice, endpoint=GET /orders').verdicts).toEqual([])
  })

  it('does not limit its own network', () => {
    const scene = exampleScene('quickstart')
    for (const ip of ['10.1.2.3', '::ffff:10.1.2.3', 'fd00::1']) {
      expect(admitted(scene, 200, () => `ip=${ip}`)).toBe(200)
    }
    expect(scene.store.stats.keys).toBe(0)
  })

  it('only reports on everything together', () => {
    const scene = exampleScene('quickstart')
    expect(admitted(scene, 1_001, () => 'global=all')).toBe(1_001)
    expect(standings(scene.check('global=all'))).toEqual(['global 0 refused'])
  })
})

describe('server/examples/github.yaml', () => {
  it('gives anonymous callers 60 an hour, by address', () => {
    const scene = exampleScene('github')
    expect(admitted(scene, 70, () => 'ip=203.0.113.9')).toBe(60)
    expect(admitted(scene, 70, () => 'ip=203.0.113.10')).toBe(60)
    scene.advance(HOUR_MS)
    expect(admitted(scene, 70, () => 'ip=203.0.113.9')).toBe(60)
  })

  it.each([
    ['user=octocat', 5_000],
    ['user=octocat, tier=app', 12_500],
    ['user=octocat, tier=enterprise', 15_000],
    ['tier=enterprise, user=octocat', 15_000],
    ['user=octocat, tier=hobby', 5_000],
  ])('gives %s %i an hour', (descriptor, count) => {
    const scene = exampleScene('github')
    expect(scene.check(descriptor, count).allowed).toBe(true)
    expect(scene.check(descriptor).tightest).toMatchObject({ rule: { name: 'primary' }, verdict: { allowed: false } })
  })

  it('keeps what a user has used when the tier changes', () => {
    const scene = exampleScene('github')
    scene.check('user=octocat', 5_000)
    expect(standings(scene.check('user=octocat, tier=enterprise'))).toEqual(['primary 9999 allowed'])
  })

  it('has 900 points a minute, of which reading costs 1 and writing 5', () => {
    const scene = exampleScene('github')
    expect(admitted(scene, 200, () => 'user=octocat, method=POST')).toBe(180)
    expect(admitted(exampleScene('github'), 1_000, () => 'user=octocat, method=GET')).toBe(900)
    const mixed = exampleScene('github')
    mixed.check('user=octocat, method=POST')
    expect(standings(mixed.check('user=octocat, method=GET, tier=app'))).toEqual(['points 899 allowed'])
  })

  it('lets a user create 80 things a minute and 500 an hour', () => {
    const scene = exampleScene('github')
    const create = (): string => 'user=octocat, content=issue'
    expect(admitted(scene, 100, create)).toBe(80)
    let passed = 80
    for (let minute = 2; minute < 20; minute += 2) {
      scene.advance(2 * MINUTE_MS)
      passed += admitted(scene, 100, create)
    }
    expect([passed, scene.check(create()).tightest?.rule.name]).toEqual([500, 'content-hour'])
  })

  it('serves 100 concurrent requests of a user', () => {
    const scene = exampleScene('github')
    const leases = acquired(scene, 120, 'user=octocat, in_flight=1')
    expect(leases).toHaveLength(100)
    scene.limiter.release(leases[0])
    expect(acquired(scene, 5, 'user=octocat, in_flight=1')).toHaveLength(1)
    scene.advance(MINUTE_MS)
    expect(acquired(scene, 120, 'user=octocat, in_flight=1')).toHaveLength(100)
  })
})

describe('server/examples/stripe.yaml', () => {
  it.each([
    ['live', 500, 100],
    ['test', 100, 25],
  ])('takes a burst in %s mode of %i, then %i a second', (mode, burst, rate) => {
    const scene = exampleScene('stripe')
    const call = (): string => `mode=${mode}, api_key=sk_${mode}_0123456789abcdef`
    expect(admitted(scene, 600, call)).toBe(burst)
    scene.advance(1_000)
    expect(admitted(scene, 600, call)).toBe(rate)
  })

  it('refuses the 21st request in progress, and takes one as soon as another has ended', () => {
    const scene = exampleScene('stripe')
    const call = 'in_flight=1, api_key=sk_live_0123456789abcdef'
    const leases = acquired(scene, 20, call)
    expect(leases).toHaveLength(20)
    expect(scene.limiter.acquire(scene.request(call))).toMatchObject({
      decision: { allowed: false, tightest: { rule: { name: 'in-flight' } } },
      permits: undefined,
    })
    expect(acquired(scene, 1, 'in_flight=1, api_key=sk_live_another_key_here')).toHaveLength(1)
    scene.limiter.release(leases[7])
    expect(acquired(scene, 3, call)).toHaveLength(1)
  })

  it('keeps a fifth of the fleet for what is critical', () => {
    const scene = exampleScene('stripe')
    expect(scene.check('fleet=other', 8_000).allowed).toBe(true)
    const { tightest } = scene.check('fleet=other')
    expect(tightest?.rule).toMatchObject({ name: 'fleet-other', priority: 2, response: { status: 503 } })
    expect(admitted(scene, 3, () => 'fleet=critical')).toBe(3)
  })

  it('sheds test traffic first, then reading, and writing last', () => {
    const scene = exampleScene('stripe')
    const places = ['test', 'GET', 'POST'].map((kind) => acquired(scene, 100, `worker=${kind}`).length)
    expect(places).toEqual([70, 80, 90])
    const rules = ['test', 'GET', 'POST'].map((kind) => scene.check(`worker=${kind}`).tightest?.rule)
    expect(rules.map((rule) => [rule?.priority, rule?.response?.status])).toEqual([
      [3, 503],
      [2, 503],
      [1, 503],
    ])
  })
})

describe('server/examples/login.yaml', () => {
  const login = (account: string, ip: string, subnet = ip.replace(/\.\d+$/, '')): string[] => [
    `account=${account}, ip=${ip}`,
    `account=${account}`,
    `ip=${ip}`,
    `subnet=${subnet}`,
  ]

  it('refuses the 11th try on one account in 15 minutes from one address, and lets the owner in from another', () => {
    const scene = exampleScene('login')
    expect(admitted(scene, 10, () => login('alice', '203.0.113.1'))).toBe(10)
    const refused = scene.check(login('alice', '203.0.113.1'))
    expect([refused.allowed, refused.tightest?.rule.name]).toEqual([false, 'account-here'])
    expect(scene.check(login('alice', '198.51.100.1')).allowed).toBe(true)
    expect(scene.check(login('bob', '203.0.113.1')).allowed).toBe(true)
  })

  it('refuses the 101st try on one account in 15 minutes, from whatever address', () => {
    const scene = exampleScene('login')
    expect(admitted(scene, 100, (i) => login('alice', `203.0.${i}.1`))).toBe(100)
    const refused = scene.check(login('alice', '198.51.100.1'))
    expect([refused.allowed, refused.tightest?.rule.name]).toEqual([false, 'account'])
    expect(scene.check(login('bob', '198.51.100.1')).allowed).toBe(true)
  })

  it('counts refused tries, so that hammering never gets through', () => {
    const scene = exampleScene('login')
    admitted(scene, 10, () => login('alice', '203.0.113.1'))
    for (let minute = 0; minute < 60; minute++) {
      scene.advance(MINUTE_MS)
      expect(scene.check(login('alice', '203.0.113.1')).allowed).toBe(false)
    }
    scene.advance(15 * MINUTE_MS)
    expect(scene.check(login('alice', '203.0.113.1')).allowed).toBe(true)
  })

  it('stops one address after 100 accounts, and one network after 500', () => {
    const scene = exampleScene('login')
    expect(admitted(scene, 150, (i) => login(`one-${i}`, '203.0.113.1'))).toBe(100)
    const rotating = exampleScene('login')
    expect(admitted(rotating, 600, (i) => login(`all-${i}`, `203.0.113.${i % 250}`))).toBe(500)
    expect(rotating.check(login('last', '203.0.113.1')).tightest?.rule.name).toBe('subnet')
  })

  it('does not limit the office by address, and still by account', () => {
    const scene = exampleScene('login')
    expect(admitted(scene, 400, (i) => login(`all-${i}`, '192.0.2.77', `office-${i}`))).toBe(400)
    expect(admitted(scene, 20, (i) => login('alice', '::ffff:192.0.2.77', `home-${i}`))).toBe(10)
  })

  it('locks an account for one address for an hour after five failures; a look does not count', () => {
    const scene = exampleScene('login')
    const failed = 'failed_account=alice, ip=203.0.113.1'
    for (let i = 0; i < 5; i++) {
      expect(standings(scene.check(failed, 0))).toEqual([`failures-here ${5 - i} allowed`])
      scene.check(failed)
    }
    expect(standings(scene.check(failed, 0))).toEqual(['failures-here 0 refused'])
    expect(scene.check('failed_account=alice, ip=203.0.113.2', 0).allowed).toBe(true)
    const refused = scene.check(failed)
    expect([refused.allowed, refused.retryAfterMs]).toEqual([false, HOUR_MS])
    expect(refused.tightest?.rule.response).toMatchObject({
      status: 429,
      headers: [['content-type', 'application/json']],
    })
    scene.advance(HOUR_MS)
    expect(scene.check(failed).allowed).toBe(true)
  })

  it('locks an account for everyone after fifty failures', () => {
    const scene = exampleScene('login')
    expect(admitted(scene, 60, () => ['failed_account=alice'])).toBe(50)
  })

  it('continues with a tenth of the budget without the store, and lets no one guess after failures', () => {
    const scene = exampleScene('login')
    const rules = ['account=a', 'account=a, ip=203.0.113.1', 'ip=203.0.113.1', 'subnet=s', 'failed_account=a'].map(
      (descriptor) => scene.check(descriptor).verdicts[0].rule,
    )
    expect(rules.map(({ name, onStoreFailure, localShare }) => [name, onStoreFailure, localShare])).toEqual([
      ['account', 'local', 0.1],
      ['account-here', 'local', 0.1],
      ['ip', 'local', 0.1],
      ['subnet', 'local', 0.1],
      ['failures', 'closed', 1],
    ])
  })
})

describe('server/examples/llm.yaml', () => {
  const KEY = 'api_key=sk-0123456789abcdef'

  it.each<[tier: string, requests: number]>([
    ['', 5],
    [', tier=free', 20],
    [', tier=pro', 500],
    [', tier=enterprise', 1_000],
    [', tier=unknown', 5],
  ])('with%s admits %i of a thousand requests a minute', (tier, requests) => {
    expect(admitted(exampleScene('llm'), 1_000, () => `${KEY}${tier}`)).toBe(requests)
  })

  it('takes the tier of the account, where the request has none', () => {
    const accounts = () => ({ tier: 'free', hasLimits: false, ownLimit: () => undefined })
    expect(admitted(exampleScene('llm', { accounts }), 100, () => KEY)).toBe(20)
  })

  it('charges tokens as the cost, and gives back what was not used', () => {
    const scene = exampleScene('llm')
    const tokens = `${KEY}, tier=free, tokens=1`
    expect(standings(scene.check(tokens, 8_000))).toEqual(['tokens 2000 allowed'])
    expect(scene.check(tokens, 4_000).allowed).toBe(false)
    expect(standings(scene.check(tokens, -5_000))).toEqual(['tokens 7000 allowed'])
    expect(scene.check(tokens, 4_000).allowed).toBe(true)
    expect(scene.check(tokens, 10_001).tightest?.verdict.kind).toBe('impossible')
  })

  it.each([
    ['small', 10_000],
    ['medium', 1_250],
    ['large', 250],
    ['unheard-of', 1_250],
  ])('has money for so many uses of the model %s in a month: %i', (model, uses) => {
    const scene = exampleScene('llm')
    const use = `${KEY}, tier=pro, model=${model}`
    expect(scene.check(use, uses).allowed).toBe(true)
    expect(scene.check(use).allowed).toBe(false)
    // 2024-01-01T00:00Z is an hour after midnight in Berlin, where January ends 743 hours later.
    scene.advance(743 * HOUR_MS - 1)
    expect(scene.check(use).allowed).toBe(false)
    scene.advance(1)
    expect(scene.check(use).allowed).toBe(true)
  })

  it.each([
    ['', 1],
    [', tier=free', 2],
    [', tier=pro', 20],
    [', tier=enterprise', 200],
  ])('with%s generates so many concurrent answers: %i', (tier, places) => {
    const scene = exampleScene('llm')
    const leases = acquired(scene, 250, `${KEY}${tier}, in_flight=1`)
    expect(leases).toHaveLength(places)
    scene.limiter.release(leases[0])
    expect(acquired(scene, 30, `${KEY}${tier}, in_flight=1`)).toHaveLength(1)
  })
})
