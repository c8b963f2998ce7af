import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { explain } from '../../server/src/cli/explain.ts'
import { RuleDirectory } from '../../src/sources/rule-directory.suite.ts'
import { lines, printedBy, refusedBy } from './printed.suite.ts'
import { run } from './sluice-process.suite.ts'

// Keys in Redis depend on it.
beforeEach(() => {
  for (const name of ['SLUICE_SECRET', 'SLUICE_KEY_PREFIX', 'CACHE_KEY_PREFIX']) vi.stubEnv(name, '')
})
afterEach(() => {
  vi.unstubAllEnvs()
})

const EDGE = `domain: edge
version: 2
descriptors:
  - key: ip
    rate_limit: { name: any-ip, unit: minute, requests_per_unit: 60 }
  - key: ip
    value: 10.*
    rate_limit: { unit: minute, requests_per_unit: 50 }
  - key: ip
    value: "*.9"
    rate_limit: { unit: minute, requests_per_unit: 49 }
  - key: ip
    cidr: [10.0.0.0/8, "fd00::/8"]
    rate_limit: { unlimited: true }
  - key: ip
    cidr: 10.1.0.0/16
    rate_limit: { unit: minute, requests_per_unit: 40 }
  - key: ip
    value: 10.1.2.9
    rate_limit: { unit: minute, requests_per_unit: 30 }
`

const PLATFORM = `domain: platform
tiers:
  free:
    rate_limits:
      - { unit: minute, requests_per_unit: 100 }
      - { unit: hour, requests_per_unit: 1000 }
  pro:
    rate_limit: { unit: minute, requests_per_unit: 5000 }
    descriptors:
      - key: endpoint
        value: POST /orders
        rate_limit: { unit: minute, requests_per_unit: 200 }
descriptors:
  - key: api_key
    secret: true
    tiered: true
    rate_limit: { unit: minute, requests_per_unit: 60 }
    descriptors:
      - key: endpoint
        value: POST /orders
        rate_limit: { unit: minute, requests_per_unit: 20 }
`

const SHOP = `domain: shop
evaluate: path
descriptors:
  - key: tenant
    rate_limit: { name: tenant, unit: hour, requests_per_unit: 1000 }
    descriptors:
      - key: user
        rate_limits:
          - { name: user-second, unit: second, requests_per_unit: 10 }
          - { name: user-day, unit: day, requests_per_unit: 500, algorithm: fixed_window }
        descriptors:
          - key: path
            value: /login
            shadow_mode: true
            rate_limit: { unit: minute, requests_per_unit: 5 }
`

const ORDER =
  'An exact value comes before address blocks (the smallest first), then wildcards (in file order), then any.'
const HASHED = 'Secret values are hashed, and differently on every installation.'

/** Writes rules to a file and explains a descriptor by them. */
function explained(rules: string, ...args: string[]): Promise<string> {
  return printedBy(explain, [new RuleDirectory({ 'rules.yaml': rules }).path, ...args])
}

describe('sluice explain: which pattern is taken', () => {
  it('shows the rule, its limit and its counter', async () => {
    expect(await explained(EDGE, 'ip=192.0.2.1')).toBe(
      lines(
        'domain edge, version 2',
        '',
        '  ip=192.0.2.1  any value → ip',
        '',
        '1 limit applies:',
        '  1. "any-ip"',
        '     limit    60 per 1m, sliding_window',
        '     counter  edge|ip|ip=192.0.2.1',
        '     redis    sluice:{25}:edge|ip|ip=192.0.2.1|s1m',
      ),
    )
  })

  it('names the patterns that match as well, in order, and says what the order is', async () => {
    expect(await explained(EDGE, 'ip=10.1.2.9')).toBe(
      lines(
        'domain edge, version 2',
        '',
        '  ip=10.1.2.9  exact value → ip=10.1.2.9',
        '               before address block → ip=10.1.0.0/16',
        '               before address block → ip=10.0.0.0/8,fd00::/8',
        '               before wildcard → ip=10.*',
        '               before wildcard → ip=*.9',
        '               before any value → ip',
        '',
        '1 limit applies:',
        '  1. "ip=10.1.2.9"',
        '     limit    30 per 1m, sliding_window; leased',
        '     counter  edge|ip%3d10.1.2.9|ip=10.1.2.9',
        '     redis    sluice:{3}:edge|ip%3d10.1.2.9|ip=10.1.2.9|s1m',
        '',
        ORDER,
      ),
    )
  })

  it('says that nothing is counted where there is no limit', async () => {
    expect(await explained(EDGE, 'ip=fd00::1')).toBe(
      lines(
        'domain edge, version 2',
        '',
        '  ip=fd00::1  address block → ip=10.0.0.0/8,fd00::/8',
        '              before any value → ip',
        '',
        '1 limit applies:',
        '  1. "ip=10.0.0.0/8,fd00::/8"',
        '     limit    unlimited',
        '     counter  none: nothing is counted',
        '',
        ORDER,
      ),
    )
  })

  it('lists what there is where nothing matches', async () => {
    expect(await explained(SHOP, 'ip=1.2.3.4', 'user=7')).toBe(
      lines(
        'domain shop',
        '',
        '  ip=1.2.3.4  no match; this level has tenant',
        '  user=7      no match',
        '',
        'No rule matches: the request is not limited.',
      ),
    )
  })

  it('lists at most eight patterns', async () => {
    const many = Array.from({ length: 11 }, (_, i) => `  - { key: k, value: v${i} }\n`).join('')
    expect(await explained(`domain: d\ndescriptors:\n${many}`, 'k=x')).toContain(
      '  k=x  no match; this level has k=v0, k=v1, k=v2, k=v3, k=v4, k=v5, k=v6, k=v7, and 3 more\n',
    )
  })

  it('says why a limit above does not apply', async () => {
    expect(await explained(EDGE, 'ip=192.0.2.1', 'path=/')).toBe(
      lines(
        'domain edge, version 2',
        '',
        '  ip=192.0.2.1  any value → ip',
        '  path=/        no match',
        '',
        'No rule matches: the request is not limited. A limit applies where its depth is the number of entries: ' +
          'send the shorter descriptor as well, or set evaluate: path.',
      ),
    )
  })

  it('says so where a pattern has no limit at its depth', async () => {
    const rules = 'domain: d\ndescriptors: [{ key: a, descriptors: [{ key: b, rate_limit: { unlimited: true } }] }]\n'
    expect(await explained(rules, 'a=1')).toMatch(
      /\n\nThe pattern is there, but has no limit at this depth: the request is not limited\.\n$/,
    )
  })
})

describe('sluice explain: evaluate: path', () => {
  it('lists the rules on the way, in order', async () => {
    expect(await explained(SHOP, 'tenant=t', 'user=7', 'path=/login')).toBe(
      lines(
        'domain shop',
        '',
        '  tenant=t     any value → tenant',
        '  user=7       any value → tenant/user',
        '  path=/login  exact value → tenant/user/path=/login',
        '',
        '4 limits apply (evaluate: path), in this order; all of them must have budget:',
        '  1. "tenant"',
        '     limit    1000 per 1h, sliding_window',
        '     counter  shop|tenant|tenant=t',
        '     redis    sluice:{14}:shop|tenant|tenant=t|s1h',
        '  2. "user-second"',
        '     limit    10 per 1s, sliding_window',
        '     counter  shop|tenant/user|tenant=t|user=7',
        '     redis    sluice:{14}:shop|tenant/user|tenant=t|user=7|s1s',
        '  3. "user-day"',
        '     limit    500 per 1d, fixed_window',
        '     counter  shop|tenant/user#2|tenant=t|user=7',
        '     redis    sluice:{14}:shop|tenant/user#2|tenant=t|user=7|f1d',
        '  4. "tenant/user/path=/login"',
        '     limit    5 per 1m, sliding_window; shadow',
        '     counter  shop|tenant/user/path%3d/login|tenant=t|user=7|path=/login',
        '     redis    sluice:{14}:shop|tenant/user/path%3d/login|tenant=t|user=7|path=/login|s1m',
      ),
    )
  })

  it('keeps those on the way where the descriptor leaves the rules', async () => {
    expect(await explained(SHOP, 'tenant=t', 'region=eu')).toBe(
      lines(
        'domain shop',
        '',
        '  tenant=t   any value → tenant',
        '  region=eu  no match; this level has user',
        '',
        '1 limit applies:',
        '  1. "tenant"',
        '     limit    1000 per 1h, sliding_window',
        '     counter  shop|tenant|tenant=t',
        '     redis    sluice:{14}:shop|tenant|tenant=t|s1h',
      ),
    )
  })
})

describe('sluice explain: tiers', () => {
  it('says which tier was taken, and what the others would be', async () => {
    const printed = await explained(PLATFORM, 'api_key=sk_live_0123456789', 'tier=free')
    expect(printed.replace(/~[0-9a-f]{16}/g, '~HASH').replace(/\(\S+\/(?=rules\.yaml)/g, '(')).toBe(
      lines(
        'domain platform, tier free',
        '',
        '  api_key=(secret)  any value → api_key',
        '',
        '2 limits apply; all of them must have budget:',
        '  1. "api_key"',
        '     limit    100 per 1m, sliding_window',
        '     source   tier free (rules.yaml:3)',
        '     counter  platform|api_key|api_key=sk_l~HASH',
        '     redis    sluice:{16}:platform|api_key|api_key=sk_l~HASH|s1m',
        '  2. "api_key#2"',
        '     limit    1000 per 1h, sliding_window',
        '     source   tier free (rules.yaml:3)',
        '     counter  platform|api_key#2|api_key=sk_l~HASH',
        '     redis    sluice:{16}:platform|api_key#2|api_key=sk_l~HASH|s1h',
        '',
        'By tier:',
        '→ free     100 per 1m, sliding_window',
        '           1000 per 1h, sliding_window',
        '  pro      5000 per 1m, sliding_window',
        '  no tier  60 per 1m, sliding_window',
        '',
        HASHED,
      ),
    )
  })

  const ORDERS = 'endpoint=POST /orders'

  it.each<[string, string[], string[]]>([
    [
      'takes what the tier says below the rule',
      ['api_key=k', 'tier=pro', ORDERS],
      [
        'By tier:',
        '  free     as without a tier: it does not mention this',
        '→ pro      200 per 1m, sliding_window',
        '  no tier  20 per 1m, sliding_window',
      ],
    ],
    [
      'takes what the rule says where the tier is silent',
      ['api_key=k', ORDERS, 'tier=free'],
      [
        'By tier:',
        '→ free     as without a tier: it does not mention this',
        '  pro      200 per 1m, sliding_window',
        '  no tier  20 per 1m, sliding_window',
      ],
    ],
    [
      'takes what the rule says without a tier',
      ['api_key=k', ORDERS],
      [
        'By tier:',
        '  free     as without a tier: it does not mention this',
        '  pro      200 per 1m, sliding_window',
        '→ no tier  20 per 1m, sliding_window',
      ],
    ],
    [
      'says that a tier is not known',
      ['tier=gold', 'api_key=k'],
      [
        'By tier (there is no tier "gold"):',
        '  free     100 per 1m, sliding_window',
        '           1000 per 1h, sliding_window',
        '  pro      5000 per 1m, sliding_window',
        '→ no tier  60 per 1m, sliding_window',
      ],
    ],
    [
      'says what is not limited',
      ['api_key=k', 'tier=pro', 'endpoint=GET /'],
      [
        'By tier:',
        '  free     as without a tier: it does not mention this',
        '→ pro      as without a tier: it does not mention this',
        '  no tier  not limited',
      ],
    ],
  ])('%s', async (_, args, expected) => {
    const printed = await explained(PLATFORM, ...args)
    const [section] = /^By tier.*(?:\n.+)*/m.exec(printed) ?? []
    expect(section?.split('\n')).toEqual(expected)
  })

  it('takes the entry tier for any other where there are no tiers', async () => {
    const rules = 'domain: d\ndescriptors: [{ key: tier, rate_limit: { unit: day, requests_per_unit: 9 } }]\n'
    expect(await explained(rules, 'tier=pro')).toBe(
      lines(
        'domain d',
        '',
        '  tier=pro  any value → tier',
        '',
        '1 limit applies:',
        '  1. "tier"',
        '     limit    9 per 1d, sliding_window',
        '     counter  d|tier|tier=pro',
        '     redis    sluice:{15}:d|tier|tier=pro|s1d',
      ),
    )
  })
})

describe('sluice explain: secrets', () => {
  const SECRET = 'sk_live_do_not_print'
  const rules = `domain: api
descriptors:
  - key: api_key
    value: ${SECRET}
    secret: true
    rate_limit: { unit: minute, requests_per_unit: 6 }
    descriptors:
      - key: path
        rate_limit: { unit: minute, requests_per_unit: 5 }
  - key: api_key
    value: sk_test_*
    secret: true
    rate_limit: { unit: minute, requests_per_unit: 6 }
`

  it.each([
    ['that a pattern names', [`api_key=${SECRET}`]],
    ['that a pattern names, further down', [`api_key=${SECRET}`, 'path=/']],
    ['that no pattern names', [`api_key=${SECRET}!`]],
    ['in the wrong place', ['path=/', `api_key=${SECRET}`]],
  ])('are not printed: one %s', async (_, args) => {
    const printed = await explained(rules, ...args)
    expect(printed).toContain('api_key=(secret)')
    expect(printed).not.toContain(SECRET.slice(0, 12))
  })
})

describe('sluice explain: docs/rules.md', () => {
  it('shows what is printed for its first example', async () => {
    const page = readFileSync(new URL('../../docs/rules.md', import.meta.url), 'utf8')
    const [, rules] = /^```yaml\n(.*?)^```$/ms.exec(page) ?? []
    const [, args, shown] = /^```\n\$ sluice explain rules\.yaml (.*?)\n(.*?)^```$/ms.exec(page) ?? []
    const entries = args.split(/' ?'?/).filter((entry) => entry !== '')
    expect(await explained(rules, ...entries)).toBe(shown)
  })
})

describe('sluice explain: compatibility', () => {
  it('explains rules as a service in compatibility mode reads them', async () => {
    const text = 'domain: d\ndescriptors: [{ key: user, rate_limit: { unit: minute, requests_per_unit: 5 } }]\n'
    const rules = new RuleDirectory({ 'd.yaml': text })
    vi.stubEnv('SLUICE_COMPATIBILITY', 'envoyproxy-ratelimit')
    const printed = await printedBy(explain, [rules.path, 'user=42']).finally(() => vi.unstubAllEnvs())
    expect(printed).toMatch(/^compatibility: envoyproxy-ratelimit; /)
    expect(printed).toContain('limit    5 per 1m, fixed_window, refused ones count')
  })

  it('knows which services there are', async () => {
    expect(await refusedBy(explain, ['--compatibility', 'another', 'rules', 'user=42'])).toMatch(
      /^CHOICE_INVALID: --compatibility: got "another", expected envoyproxy-ratelimit/,
    )
  })
})

describe('sluice explain: mistakes', () => {
  it('lists the domains when there are several, or none of that name', async () => {
    const { path } = new RuleDirectory({ 'a.yaml': EDGE, 'b.yaml': SHOP })
    const RULE = 'Choose a domain that the rules define.'
    expect(await refusedBy(explain, [path, 'ip=1.2.3.4'])).toBe(
      `DOMAIN_UNKNOWN: --domain: not given. Known domains: edge, shop. ${RULE}`,
    )
    expect(await refusedBy(explain, [path, 'ip=1.2.3.4', '--domain', 'api'])).toBe(
      `DOMAIN_UNKNOWN: --domain: got "api". Known domains: edge, shop. ${RULE}`,
    )
    expect(await printedBy(explain, [path, '--domain=shop', 'tenant=t'])).toMatch(/^domain shop\n/)
  })

  it.each<[string[], string]>([
    [[], 'ARGUMENT_MISSING: explain: no rules given. Run the command with --help to see its usage.'],
    [['.'], 'ARGUMENT_MISSING: explain: no key=value given. Run the command with --help to see its usage.'],
    [
      ['.', 'user=1', '--tier', 'pro'],
      'FLAG_UNKNOWN: explain: got "--tier". Run the command with --help to list its flags.',
    ],
    [['.', '--domain'], 'FLAG_VALUE_MISSING: --domain: no value. Give the value as --flag VALUE or --flag=VALUE.'],
  ])('answers %j with one line', async (args, message) => {
    expect(await refusedBy(explain, args)).toBe(message)
  })

  it.each(['user', '=1', ''])('refuses the entry "%s"', async (entry) => {
    const { path } = new RuleDirectory({ 'rules.yaml': EDGE })
    expect(await refusedBy(explain, [path, entry])).toBe(
      `ENTRY_INVALID: explain: got "${entry}". An entry must be key=value.`,
    )
  })

  it('takes a value with an equals sign, and an empty one', async () => {
    expect(await explained(EDGE, 'ip=a=b')).toContain('\n  ip=a=b  any value → ip\n')
    expect(await explained(EDGE, 'ip=')).toContain('\n  ip=  any value → ip\n')
  })

  it('ends with exit code 1 and all errors of a broken file', () => {
    const rules = new RuleDirectory({ 'api.yaml': 'domain: d\nlimits: []\ndescriptors: [{ value: x }]\n' })
    const { status, stdout, stderr } = run(['explain', 'api.yaml', 'user=1'], { cwd: rules.path })
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr.split('\n').map((line) => line.split(': ', 2).join(' '))).toEqual([
      'RULE_UNKNOWN_KEY api.yaml:2:1',
      'RULE_INVALID api.yaml:3:15',
      '',
    ])
  })

  it('ends with exit code 0 and prints to standard output', () => {
    const rules = new RuleDirectory({ 'api.yaml': EDGE })
    const { status, stdout, stderr } = run(['explain', 'api.yaml', 'ip=192.0.2.1'], { cwd: rules.path })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toMatch(/^domain edge, version 2\n/)
  })
})

describe('sluice explain: eventual rules', () => {
  const EVENTUAL = `domain: api
descriptors:
  - key: user
    rate_limit: { unit: minute, requests_per_unit: 100, consistency: eventual, sync_interval: 200ms }
`
  const boundOf = async (...args: string[]): Promise<string | undefined> =>
    /^ +bound +(.*)$/m.exec(await explained(EVENTUAL, 'user=42', ...args))?.[1]

  it('say how much more than the limit they admit at most', async () => {
    expect(await boundOf()).toBe(
      'over the limit by at most 100 with 2 nodes, 300 with 4 nodes, 1500 with 16 nodes: ' +
        '(nodes − 1) × the smaller of 100 and their rate × 300ms',
    )
  })

  it('say it for a number of nodes, and for what each of them gets', async () => {
    expect(await boundOf('--nodes', '8', '--rate', '50')).toBe(
      'over the limit by at most 105 with 8 nodes: (nodes − 1) × the smaller of 100 and 50/s × 300ms',
    )
    expect(await boundOf('--nodes', '1')).toMatch(/^over the limit by at most 0 with 1 node:/)
  })

  it.each([
    [
      ['--nodes', '0'],
      'NODES_OR_RATE_INVALID: --nodes: got "0". The value must be a whole number; --nodes must be at least 1.',
    ],
    [
      ['--rate', 'x'],
      'NODES_OR_RATE_INVALID: --rate: got "x". The value must be a whole number; --nodes must be at least 1.',
    ],
  ])('refuse %s', async (args, message) => {
    const { path } = new RuleDirectory({ 'rules.yaml': EVENTUAL })
    expect(await refusedBy(explain, [path, 'user=42', ...args])).toBe(message)
  })
})
