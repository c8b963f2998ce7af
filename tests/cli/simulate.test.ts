import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { ReplayProgress } from '../../server/src/cli/simulate/progress.ts'
import { simulate } from '../../server/src/cli/simulate.ts'
import { printedBy, refusedBy } from './printed.suite.ts'
import { run } from './sluice-process.suite.ts'

const START = Date.UTC(2026, 10, 20, 9)
const RULES = `
domain: api
descriptors:
  - key: user
    rate_limit: { name: per-user, algorithm: fixed_window, unit: minute, requests_per_unit: 3 }
`
const LOOSE = RULES.replace('requests_per_unit: 3', 'requests_per_unit: 5')
const KEYED = `
domain: api
descriptors:
  - key: api_key
    secret: true
    rate_limit: { unit: minute, requests_per_unit: 1 }
`

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'sluice-simulate-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  process.exitCode = undefined
  onTestFinished(() => {
    process.exitCode = undefined
  })
})

function file(name: string, content: string | Buffer): string {
  const path = join(dir, name)
  writeFileSync(path, content)
  return path
}

/** A log of JSON lines: who asked, at which second. */
const lines = (...asked: readonly (readonly [user: string, second: number])[]): string =>
  asked
    .map(
      ([user, second]) =>
        `${JSON.stringify({ time: (START + second * 1_000) / 1_000, user, method: 'GET', path: '/' })}\n`,
    )
    .join('')

const TRAFFIC = lines(...Array.from({ length: 6 }, (_, i) => ['ada', i] as const), ['bob', 10], ['cy', 11], ['cy', 12])

async function result(...args: readonly string[]) {
  return JSON.parse(await printedBy(simulate, [...args, '--json'])) as Record<string, never>
}

describe('sluice simulate', () => {
  it('says who is refused, when, and by which rule', async () => {
    const answer = await result(file('r.yaml', RULES), '--traffic', file('t.jsonl', TRAFFIC))
    expect(answer).toMatchObject({
      totals: { requests: 9, refused: 3, shadow: 0, lost: 0, gained: 0 },
      callers: {
        isExact: true,
        seen: 3,
        refused: 1,
        keys: ['user'],
        top: [{ caller: 'user=ada', requests: 6, refused: 3 }],
      },
      rules: [
        {
          id: 'user',
          name: 'per-user',
          asked: 9,
          refused: 3,
          first: '2026-11-20T09:00:03.000Z',
          last: '2026-11-20T09:00:05.000Z',
        },
      ],
      time: { widthMs: 1_000 },
      traffic: {
        formats: ['json'],
        lines: 9,
        unread: 0,
        from: '2026-11-20T09:00:00.000Z',
        to: '2026-11-20T09:00:12.000Z',
      },
    })
  })

  it('says only what differs from other rules', async () => {
    const [strict, loose, traffic] = [file('r.yaml', RULES), file('l.yaml', LOOSE), file('t.jsonl', TRAFFIC)]
    const printed = await printedBy(simulate, [strict, '--against', loose, '--traffic', traffic])
    expect(printed).toContain('\n1 caller loses 2 requests, none gains any\n')
    expect(printed).not.toContain('bob')
    const back = await result(loose, '--against', strict, '--traffic', traffic)
    expect(back).toMatchObject({
      totals: { lost: 0, gained: 2 },
      callers: { lost: 0, gained: 1 },
      rules: [{ gained: 2 }, { gained: 0 }],
    })
    const same = await printedBy(simulate, [strict, '--against', strict, '--traffic', traffic])
    expect(same).toContain('\nno difference: every request is decided as before\n')
  })

  it('gives the same bytes twice, in text, JSON, HTML and decisions', async () => {
    const [rules, traffic] = [file('r.yaml', KEYED), file('t.jsonl', TRAFFIC.replaceAll('"user"', '"api_key"'))]
    const once = async (n: number) => {
      const [html, decisions] = [join(dir, `${n}.html`), join(dir, `${n}.jsonl`)]
      const args = [rules, '--traffic', traffic, '--html', html, '--decisions', decisions]
      const printed = await printedBy(simulate, args)
      return [
        printed,
        await printedBy(simulate, [...args, '--json']),
        readFileSync(html, 'utf8'),
        readFileSync(decisions, 'utf8'),
      ]
    }
    expect(await once(1)).toEqual(await once(2))
  })

  it.each([
    ['refused > 30 %', 2],
    ['refused > 34 %', undefined],
    ['refused >= 3', 2],
    ['refused(user)>0.1%', 2],
    ['refused(caller) > 1', undefined],
    ['refused(user) >= 33.3 %', 2],
    ['lost(user) > 0', 2],
    ['lost > 1', 2],
    ['gained > 0', undefined],
    ['unread > 0 %', undefined],
    ['shadow > 0', undefined],
  ])('--fail-if %j ends with %s', async (condition, code) => {
    const args = [file('r.yaml', RULES), '--against', file('l.yaml', LOOSE), '--traffic', file('t.jsonl', TRAFFIC)]
    const printed = await printedBy(simulate, [...args, '--fail-if', condition])
    expect(process.exitCode).toBe(code)
    expect(printed).toContain(`\n${code === undefined ? 'passed' : 'FAILED'}  ${condition}: `)
  })

  it('counts lines that cannot be read, and fails on them if it is to', async () => {
    const torn = `${TRAFFIC}{"time":17\n\n# note\n${'x'.repeat(70_000)}\n`
    const args = [file('r.yaml', RULES), '--traffic', file('t.jsonl', torn)]
    expect(await result(...args, '--fail-if', 'unread > 20 %')).toMatchObject({
      traffic: { lines: 12, unread: 3 },
      conditions: [{ condition: 'unread > 20 %', value: 25, isMet: true }],
    })
  })

  it('reads packed logs, several logs, and a pipe', async () => {
    const rules = file('r.yaml', RULES)
    const whole = await result(rules, '--traffic', file('t.jsonl', TRAFFIC))
    const bare = ({ totals, callers, rules, time }: Record<string, unknown>) => ({ totals, callers, rules, time })
    const packed = file('t.gz', Buffer.concat([gzipSync(TRAFFIC.slice(0, 100)), gzipSync(TRAFFIC.slice(100))]))
    expect(bare(await result(rules, '--traffic', packed))).toEqual(bare(whole))
    const cut = TRAFFIC.indexOf('\n', 200) + 1
    const halves = [
      '--traffic',
      file('1.jsonl', TRAFFIC.slice(0, cut)),
      '--traffic',
      file('2.jsonl', TRAFFIC.slice(cut)),
    ]
    expect(bare(await result(rules, ...halves))).toEqual(bare(whole))
    const piped = run(['simulate', rules, '--traffic', '-', '--json'], { input: TRAFFIC })
    expect(bare(JSON.parse(piped.stdout) as Record<string, unknown>)).toEqual(bare(whole))
  })

  it('reads the decision log of a service', async () => {
    const decision = (user: string, second: number): string =>
      `${JSON.stringify({ time: new Date(START + second * 1_000).toISOString(), door: 'rls', domain: 'api', rule: 'user', key_kind: 'user', key: `user=${user}`, cost: 2, outcome: 'allowed', reason: 'within_limit' })}\n`
    const log = [0, 1, 2].map((second) => decision('a|b=c', second)).join('')
    expect(await result(file('r.yaml', LOOSE), '--traffic', file('d.jsonl', log))).toMatchObject({
      traffic: { formats: ['decisions'] },
      totals: { requests: 3, refused: 1 },
      callers: { top: [{ caller: 'user=a|b=c', refused: 1 }] },
    })
  })

  it('makes entries of fields, constants and templates', async () => {
    const rules = file(
      'r.yaml',
      'domain: api\ndescriptors:\n  - key: mode\n    value: live\n    descriptors:\n      - key: route\n        value: GET shop /\n        rate_limit: { unit: minute, requests_per_unit: 8 }\n',
    )
    const args = [rules, '--traffic', file('t.jsonl', TRAFFIC), '--entry', 'mode=live']
    expect(await result(...args, '--entry', 'route={method} shop {path}')).toMatchObject({ totals: { refused: 1 } })
    expect(await result(...args, '--entry', 'route={method} other {path}')).toMatchObject({
      totals: { refused: 0 },
      notAsked: ['mode=live/route=GET shop /'],
    })
  })

  it('takes the cost from a field, and the tier of callers', async () => {
    const rules = file(
      'r.yaml',
      'domain: api\ntiers: { pro: { rate_limit: { unit: minute, requests_per_unit: 10 } } }\ndescriptors:\n  - key: user\n    tiered: true\n    rate_limit: { unit: minute, requests_per_unit: 5 }\n',
    )
    const log = ['pro', 'free'].flatMap((tier) =>
      [0, 1].map((second) => JSON.stringify({ time: START / 1_000 + second, user: tier, tier, tokens: 4 })),
    )
    const answer = await result(rules, '--traffic', file('t.jsonl', log.join('\n')), '--field', 'cost=tokens')
    expect(answer).toMatchObject({ totals: { requests: 4, refused: 1 }, callers: { top: [{ caller: 'user=free' }] } })
  })

  it('finds the client behind trusted proxies, and an IPv6 caller by its /64', async () => {
    const rules = file(
      'r.yaml',
      'domain: api\ndescriptors:\n  - key: ip\n    rate_limit: { unit: minute, requests_per_unit: 1 }\n',
    )
    const log = ['2001:db8::1', '2001:db8::2, 10.0.0.9'].map((xff, i) =>
      JSON.stringify({ time: START / 1_000 + i, client_ip: `10.0.0.${i}:4711`, x_forwarded_for: xff }),
    )
    const args = [rules, '--traffic', file('t.jsonl', log.join('\n'))]
    expect(await result(...args)).toMatchObject({ totals: { refused: 0 }, callers: { seen: 2 } })
    expect(await result(...args, '--trusted-proxies', 'uniquelocal')).toMatchObject({
      callers: { seen: 1, top: [{ caller: 'ip=2001:db8::/64', refused: 1 }] },
    })
  })

  it('does not judge places that are held, and says so', async () => {
    const rules = file(
      'r.yaml',
      `${RULES}  - key: method\n    rate_limit: { algorithm: concurrency, requests_per_unit: 1 }\n`,
    )
    const printed = await printedBy(simulate, [rules, '--traffic', file('t.jsonl', TRAFFIC)])
    expect(printed).toContain('- not judged, because a log does not say how long places are held: method\n')
    expect(printed).not.toContain('concurrent')
  })

  it.each([
    [[], 'ARGUMENT_MISSING: simulate: no --traffic given.'],
    [['--traffic', 'absent.log'], 'FILE_UNREADABLE: absent.log: ENOENT.'],
    [['--traffic', '.'], 'FILE_UNREADABLE: .: it is a directory.'],
    [
      ['--traffic', 'T', '--format', 'apache'],
      'CHOICE_INVALID: --format: got "apache", expected nginx or envoy or json or csv or decisions.',
    ],
    [['--traffic', 'T', '--format', 'nginx'], 'TRAFFIC_EMPTY: --traffic: none of 9 lines is a request.'],
    [['--traffic', 'T', '--entry', 'user={x'], 'TEMPLATE_INVALID: --entry user: got "{x".'],
    [
      ['--traffic', 'T', '--entry', 'user={account}'],
      'TRAFFIC_EMPTY: --traffic: none of 9 lines has what the rules need.',
    ],
    [['--traffic', 'T', '--entry', 'user'], 'ENTRY_INVALID: --entry: got "user".'],
    [['--traffic', 'T', '--without', 'user'], 'NOTHING_SIMULATED: api: no descriptor is left.'],
    [['--traffic', 'T', '--domain', 'apx'], 'DOMAIN_UNKNOWN: --domain: got "apx". Known domains: api.'],
    [['--traffic', 'T', '--top', '0'], 'SIMULATE_NUMBER_INVALID: --top: got "0"; at most 10000.'],
    [['--traffic', 'T', '--out-of-order', '2h'], 'DURATION_INVALID: --out-of-order: got "2h", more than 1h.'],
    [
      ['--traffic', 'T', '--fail-if', 'refusd > 1'],
      'FAIL_IF_INVALID: --fail-if: got "refusd > 1", did you mean "refused"?',
    ],
    [['--traffic', 'T', '--fail-if', 'refused < 1'], 'FAIL_IF_INVALID: --fail-if: got "refused < 1".'],
    [['--traffic', 'T', '--fail-if', 'lost > 1'], 'FAIL_IF_INVALID: --fail-if: got "lost > 1" without --against.'],
    [['--traffic', 'T', '--html', '/absent/x.html'], 'REPORT_UNWRITABLE: /absent/x.html: ENOENT.'],
    [['--traffic', 'T', '--against', 'absent.yaml'], 'absent.yaml'],
  ])('%j is refused', async (args, message) => {
    const traffic = file('t.jsonl', TRAFFIC)
    const put = args.map((arg) => (arg === 'T' ? traffic : arg))
    expect(await refusedBy(simulate, [file('r.yaml', RULES), ...put])).toContain(message)
  })

  it('names entries that a log cannot have, with the fields that it has', async () => {
    const log = '192.0.2.1 - - [20/Nov/2026:10:00:05 +0100] "GET / HTTP/1.1" 200 5 "-" "-"\n'
    expect(await refusedBy(simulate, [file('r.yaml', KEYED), '--traffic', file('t.log', log)])).toBe(
      'TRAFFIC_ENTRY_UNKNOWN: the rules need "api_key", which the traffic does not have. Say where its value is: --entry api_key={FIELD} (fields: address, endpoint, forwarded_for, ip, method, path, referer, remote_address, status, target, user, user_agent), as a constant (--entry api_key=TEXT), or leave its rules out: --without api_key.',
    )
  })

  it('does not take a routes file', async () => {
    const routes =
      'upstreams: { app: { addresses: [http://localhost:1] } }\nroutes: [{ path: /, upstream: app, unlimited: true }]\n'
    expect(await refusedBy(simulate, [file('g.yaml', routes), '--traffic', file('t.jsonl', TRAFFIC)])).toMatch(
      /^(ROUTES_NOT_SIMULATED: simulate: a routes file of the gateway was given\.)/,
    )
  })

  it('is in --help, and has its own', () => {
    expect(run(['--help']).stdout).toContain('sluice simulate RULES --traffic LOG')
    expect(run(['simulate', '--help']).stdout).toMatch(/^sluice simulate: replay access logs/)
  })
})

describe('the progress of a replay', () => {
  it('shows on a terminal how much is done, and how long the rest takes; elsewhere nothing', () => {
    const shown = (isTTY: boolean): string => {
      let now = 0
      let text = ''
      const traffic = { name: 'x', chunks: (async function* () {})(), sizeBytes: 1_000, readBytes: () => 250 }
      const screen = { isTTY, write: (part: string) => (text += part) }
      const progress = new ReplayProgress(
        [traffic],
        () => 400_000,
        screen,
        () => now,
      )
      progress.update()
      now = 1_000
      progress.update()
      progress.end()
      return text
    }
    expect(shown(true)).toBe('\r\u001b[K25 %  400,000 lines, 400,000/s, 3 s left\r\u001b[K')
    expect(shown(false)).toBe('')
  })
})
