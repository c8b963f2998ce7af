import { describe, expect, it } from 'vitest'
import { check } from '../../server/src/cli/check.ts'
import { RuleDirectory, ruleText } from '../../src/sources/rule-directory.suite.ts'
import { lines, printedBy, refusedBy } from './printed.suite.ts'
import { run } from './sluice-process.suite.ts'

const RULES = `domain: shop
version: 7
evaluate: path
descriptors:
  - key: api_key
    secret: true
    rate_limit: { name: per-key, unit: hour, requests_per_unit: 1000, algorithm: token_bucket, burst: 50 }
    descriptors:
      - key: endpoint
        value: POST /orders
        shadow_mode: true
        rate_limits:
          - { unit: minute, requests_per_unit: 20 }
          - { requests_per_unit: 3, algorithm: concurrency, priority: 3 }
  - key: api_key
    value: sk_live_of_a_partner
    secret: true
    rate_limit: { unlimited: true }
  - key: ip
    cidr: [10.0.0.0/8, "fd00::/8"]
    rate_limit: { unlimited: true }
  - key: ip
    value: 192.*
    rate_limit: { unit: second, requests_per_unit: 5 }
  - key: ip
    enabled: false
    rate_limit: { unit: second, requests_per_unit: 1 }
`

const LIMIT = `domain: d
descriptors: [{ key: user, rate_limit: { unit: minute, requests_per_unit: 5 } }]
`

const BROKEN = `domain: api
descriptors:
  - key: user
    rate_limit: { unit: minut, requests_per_unit: 100 }
  - key: user
    rate_limit: { unit: minute, requests_per_unit: 1 }
  - key: ip
    cidr: 10.0.0.0/33
    rate_limt: { unit: minute, requests_per_unit: 1 }
`

describe('sluice check', () => {
  it('draws what it understood, without secrets', async () => {
    const rules = new RuleDirectory({ 'shop.yaml': RULES })
    expect(await printedBy(check, [rules.path])).toBe(
      lines(
        'domain shop, version 7, rules on the way apply too',
        '  api_key=(secret)',
        '    unlimited',
        '  api_key',
        '    "per-key": 1000 per 1h, token_bucket, burst 50',
        '    endpoint=POST /orders',
        '      20 per 1m, sliding_window; shadow',
        '      3 concurrent, leases of 1m; shadow; priority 3',
        '  ip=10.0.0.0/8,fd00::/8',
        '    unlimited',
        '  ip=192.*',
        '    5 per 1s, sliding_window',
        '',
        'ok: 6 limits in 1 domain, 1 file',
      ),
    )
  })

  it('draws rules as a service in compatibility mode reads them, and says so', async () => {
    const rules = new RuleDirectory({ 'd.yaml': LIMIT })
    expect(await printedBy(check, [rules.path, '--compatibility', 'envoyproxy-ratelimit'])).toBe(
      lines(
        'compatibility: envoyproxy-ratelimit; limits that do not say otherwise count in fixed windows, refused hits included',
        '',
        'domain d',
        '  user',
        '    5 per 1m, fixed_window, refused ones count',
        '',
        'ok: 1 limit in 1 domain, 1 file',
      ),
    )
  })

  it('draws tiers below the rule that they replace', async () => {
    const text = `domain: api
tiers:
  free:
    rate_limit: { unit: minute, requests_per_unit: 10 }
  pro:
    rate_limits: [{ unit: minute, requests_per_unit: 100 }, { name: daily, unit: day, requests_per_unit: 5000 }]
    descriptors:
      - key: path
        rate_limit: { unit: second, requests_per_unit: 9 }
descriptors:
  - key: user
    tiered: true
    rate_limit: { unit: minute, requests_per_unit: 1 }
`
    const rules = new RuleDirectory({ 'api.yaml': text })
    expect(await printedBy(check, [rules.at('api.yaml')])).toBe(
      lines(
        'domain api',
        '  user',
        '    1 per 1m, sliding_window',
        '    tier free',
        '      10 per 1m, sliding_window',
        '    tier pro',
        '      100 per 1m, sliding_window',
        '      "daily": 5000 per 1d, sliding_window',
        '      path',
        '        9 per 1s, sliding_window',
        '',
        'ok: 5 limits in 1 domain, 1 file',
      ),
    )
  })

  it('checks several files together, and joins domains when configured', async () => {
    const rules = new RuleDirectory({
      'a.yaml': ruleText(1),
      'b.yaml': 'domain: api\ndescriptors: [{ key: ip, rate_limit: { unlimited: true } }]\n',
      'c.yaml': ruleText(3, 'c'),
    })
    expect(await printedBy(check, [rules.at('c.yaml'), rules.at('a.yaml')])).toMatch(
      /^domain c\n.*\ndomain api\n.*\n\nok: 2 limits in 2 domains, 2 files\n$/s,
    )
    expect(await printedBy(check, ['--merge-domains', rules.path])).toMatch(/ok: 3 limits in 2 domains, 3 files\n$/)
    expect(await refusedBy(check, ['--merge-domains=false', rules.path])).toMatch(/^RULE_DUPLICATE_DOMAIN: /)
  })

  it('prints its result to standard output, and ends with exit code 0', () => {
    const rules = new RuleDirectory({ 'api.yaml': ruleText(2) })
    expect(run(['check', 'rules/api.yaml'], { cwd: rules.at('..') })).toEqual({
      status: 0,
      stdout: 'domain api\n  user\n    2 per 1d, sliding_window\n\nok: 1 limit in 1 domain, 1 file\n',
      stderr: '',
    })
  })

  it('prints all errors together to standard error, in order, and ends with exit code 1', () => {
    const rules = new RuleDirectory({ 'broken.yaml': BROKEN, 'other.yaml': 'domain: b\ndescriptor: []\n' })
    expect(run(['check', 'rules'], { cwd: rules.at('..') })).toEqual({
      status: 1,
      stdout: '',
      stderr: lines(
        'RULE_INVALID: rules/broken.yaml:4:25: unit: got "minut" ' +
          '(invalid option: expected one of "second"|"minute"|"hour"|"day"|"week"|"month"|"year"). ' +
          'See docs/rules.md for the rule language.',
        'RULE_DUPLICATE_KEY: rules/broken.yaml:5:10: "user" is already defined at line 3. ' +
          'A key, or a key with its value, must be unique within a level.',
        'RULE_CIDR_INVALID: rules/broken.yaml:8:11: got "10.0.0.0/33". ' +
          'An address block must be an IPv4 or IPv6 address, a slash and a prefix length, such as 10.0.0.0/8.',
        'RULE_UNKNOWN_KEY: rules/broken.yaml:9:5: "rate_limt", did you mean "rate_limit"? ' +
          'Only keys of the rule language are accepted (docs/rules.md), so that a typo is never ignored.',
        'RULE_UNKNOWN_KEY: rules/other.yaml:2:1: "descriptor", did you mean "descriptors"? ' +
          'Only keys of the rule language are accepted (docs/rules.md), so that a typo is never ignored.',
      ),
    })
  })

  it('prints what is wrong for programs, on standard output, and ends with exit code 1', () => {
    const rules = new RuleDirectory({ 'broken.yaml': BROKEN, 'other.yaml': 'domain: b\n' })
    const { status, stdout, stderr } = run(['check', '--json', 'rules'], { cwd: rules.at('..') })
    expect([status, stderr, stdout.split('\n').length]).toEqual([1, '', 2])
    const { problems, ...rest } = JSON.parse(stdout)
    expect(rest).toEqual({ ok: false, files: 2, domains: 0, limits: 0, omitted: 0, warnings: [] })
    expect(problems).toHaveLength(4)
    expect(problems[3]).toEqual({
      file: 'rules/broken.yaml',
      line: 9,
      column: 5,
      code: 'RULE_UNKNOWN_KEY',
      message: '"rate_limt", did you mean "rate_limit"?',
      rule: 'Only keys of the rule language are accepted (docs/rules.md), so that a typo is never ignored.',
    })
  })

  it('warns of a sampled limit that chance alone misses by much, and of no other', async () => {
    const rate = (count: number) => `rate_limit: { unit: second, requests_per_unit: ${count}, consistency: sampled }`
    const rules = new RuleDirectory({
      'a.yaml': [
        'domain: shop',
        'descriptors:',
        `  - { key: few, ${rate(100)} }`,
        `  - { key: many, ${rate(10_000)} }`,
        '  - { key: exact, rate_limit: { unit: second, requests_per_unit: 100 } }',
      ].join('\n'),
    })
    const warning =
      'domain shop, few: sampled misses 100 per 1s by ±14 % by chance alone. ' +
      'Use it for 10000 per window and more, and leased below'
    expect(await printedBy(check, [rules.path])).toContain(`\n\nwarning: ${warning}\nok: 3 limits`)
    expect(JSON.parse(await printedBy(check, [rules.path, '--json'])).warnings).toEqual([warning])
  })

  it('prints for programs that all is well, and what cannot be read', async () => {
    const rules = new RuleDirectory({ 'a.yaml': ruleText(1), 'b.yaml': ruleText(2, 'b') })
    expect(JSON.parse(await printedBy(check, [rules.path, '--json']))).toEqual({
      ok: true,
      files: 2,
      domains: 2,
      limits: 2,
      problems: [],
      omitted: 0,
      warnings: [],
    })
    expect(JSON.parse(run(['check', '--json', 'none.yaml']).stdout).problems).toEqual([
      {
        file: 'none.yaml',
        line: null,
        column: null,
        code: 'RULE_FILE_UNREADABLE',
        message: 'the file does not exist (ENOENT)',
        rule: 'Rules must be a readable file, or a directory of .yaml and .yml files.',
      },
    ])
  })

  const FOREIGN = 'A rule file must be YAML with a domain and descriptors (docs/rules.md).'

  it.each<[string, string, string]>([
    [
      'package.json',
      '{ "name": "a", "version": "1.0.0", "type": "module", "scripts": { "a": "b" } }',
      `RULE_FILE_FOREIGN: FILE:1:1: the file has "name", "type", "scripts", but neither domain nor descriptors. ${FOREIGN}`,
    ],
    [
      'compose.yaml',
      'services:\n  web: { image: nginx }\n',
      `RULE_FILE_FOREIGN: FILE:1:1: the file has "services", but neither domain nor descriptors. ${FOREIGN}`,
    ],
    [
      'main.ts',
      'const a = { b: [1, 2 }\nexport default {\n  a: b: c\n}\n',
      `RULE_FILE_FOREIGN: FILE: the file is not YAML, and no line begins with domain or descriptors. ${FOREIGN}`,
    ],
    [
      'binary',
      '\u0000\u0001\u0002',
      'RULE_SYNTAX: FILE:1:1: control character U+0000. A rule file must be valid YAML.',
    ],
  ])('says of %s once that it is no rule file', async (name, text, message) => {
    const files = new RuleDirectory({ [name]: text })
    expect((await refusedBy(check, [files.at(name)])).replace(files.at(name), 'FILE')).toBe(message)
  })

  const UNREADABLE = 'Rules must be a readable file, or a directory of .yaml and .yml files.'

  it.each<[string[], string]>([
    [[], 'ARGUMENT_MISSING: check: no rules given. Run the command with --help to see its usage.'],
    [['--rules', 'a.yaml'], 'FLAG_UNKNOWN: check: got "--rules". Run the command with --help to list its flags.'],
    [
      ['a.yaml', '--merge-domains=perhaps'],
      'SWITCH_INVALID: --merge-domains: got "perhaps". A switch must be true or false.',
    ],
    [
      ['none.yaml', 'neither'],
      `RULE_FILE_UNREADABLE: none.yaml: the file does not exist (ENOENT). ${UNREADABLE}\n` +
        `RULE_FILE_UNREADABLE: neither: the file does not exist (ENOENT). ${UNREADABLE}`,
    ],
  ])('answers %j with a line for each error', async (args, message) => {
    expect(await refusedBy(check, args)).toBe(message)
  })
})
