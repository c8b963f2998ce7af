import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { check } from '../../server/src/cli/check.ts'
import { simulate } from '../../server/src/cli/simulate.ts'
import { suggest } from '../../server/src/cli/suggest.ts'
import { loadRules } from '../../src/core/rules/load.ts'
import { printedBy, refusedBy } from './printed.suite.ts'
import { run } from './sluice-process.suite.ts'

const START = Date.UTC(2026, 10, 20, 9)

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'sluice-suggest-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
})

function file(name: string, content: string): string {
  const path = join(dir, name)
  writeFileSync(path, content)
  return path
}

interface Asked {
  readonly ms: number
  readonly user?: string | undefined
  readonly tier?: string | undefined
  readonly method: string
  readonly path: string
}

const logOf = (asked: readonly Asked[]): string =>
  [...asked]
    .sort((a, b) => a.ms - b.ms)
    .map(({ ms, ...rest }) => `${JSON.stringify({ time: (START + ms) / 1_000, ...rest })}\n`)
    .join('')

/** More than an hour of users that read steadily, order in bursts, and one that does far more than all others. */
function traffic(tierOf: (user: number) => string | undefined = () => undefined): Asked[] {
  const asked: Asked[] = []
  for (let user = 0; user < 110; user++) {
    const who = { user: `user-${user}`, tier: tierOf(user) }
    const everyMs = user === 7 ? 300 : 6_000
    for (let ms = user; ms < 4_000_000; ms += everyMs)
      asked.push({ ms, ...who, method: 'GET', path: `/items/${user}?q=1` })
    for (let i = 0; i < 40; i++)
      asked.push({ ms: 1_800_000 + user * 1_000 + i * 500, ...who, method: 'POST', path: '/orders' })
  }
  return asked
}

/** Reads of a proposal what it says that each limit would have refused. */
function claims(yaml: string): Map<string, number> {
  const found = new Map<string, number>()
  let refused = Number.NaN
  for (const line of yaml.split('\n')) {
    if (line.includes('# It would have refused no one.')) refused = 0
    const [, count] = /# It would have refused ([\d,]+) requests?/.exec(line) ?? []
    if (count !== undefined) refused = Number(count.replaceAll(',', ''))
    const [, name] = /rate_limit: \{ name: "?([^",]+)"?,/.exec(line) ?? []
    if (name !== undefined) found.set(name, refused)
  }
  return found
}

describe('sluice suggest', () => {
  it('proposes limits that sluice check accepts, and that refuse what it says', async () => {
    const log = file('t.jsonl', logOf(traffic()))
    const yaml = await printedBy(suggest, ['--traffic', log])
    const rules = file('suggested.yaml', yaml)
    expect(await printedBy(check, [rules])).toContain('ok: 3 limits in 1 domain, 1 file')
    const { totals, rules: counts } = JSON.parse(await printedBy(simulate, [rules, '--traffic', log, '--json'])) as {
      totals: { refused: number }
      rules: { name: string; shadow: number; isShadow: boolean; limit: string }[]
    }
    // In shadow mode.
    expect(totals.refused).toBe(0)
    expect(counts.every(({ isShadow }) => isShadow)).toBe(true)
    expect(new Map(counts.map(({ name, shadow }) => [name, shadow]))).toEqual(claims(yaml))
    expect(Object.fromEntries(counts.map(({ name, limit }) => [name, limit.replace(/;.*/, '')]))).toEqual({
      'per-user': '20 per 1m, token_bucket, burst 80',
      'GET /items/*': '20 per 1m, sliding_window',
      'POST /orders': expect.stringMatching(/^\d+ per 1m, token_bucket, burst \d+$/) as string,
    })
    // Only the user that does far more than the others.
    expect(yaml).toMatch(/requests of 110 callers; 99 % of them had at most/)
    expect(yaml).toMatch(/It would have refused [\d,]+ requests, of 1 caller\./)
    expect(yaml).not.toContain('user-')
  })

  it('proposes limits by tier', async () => {
    const log = file('t.jsonl', logOf(traffic((user) => (user < 30 ? 'pro' : user < 80 ? 'free' : undefined))))
    const yaml = await printedBy(suggest, ['--traffic', log])
    const domain = loadRules([{ file: 'x', text: yaml }]).domains.get('api')
    expect(domain?.hasTiers).toBe(true)
    const rules = file('suggested.yaml', yaml)
    expect(await printedBy(check, [rules])).toMatch(/tier free[\s\S]*tier pro/)
    expect(yaml).toMatch(/^ {2}free:\n {4}# [\d,]+ requests of 50 callers/m)
    expect(yaml).toMatch(/^ {2}pro:\n {4}# [\d,]+ requests of 30 callers/m)
    const { totals } = JSON.parse(await printedBy(simulate, [rules, '--traffic', log, '--json'])) as { totals: object }
    expect(totals).toMatchObject({ refused: 0 })
  })

  it('takes the address where there is no user, and what --caller says', async () => {
    const lines = Array.from({ length: 60 }, (_, i) => {
      const at = `${String(Math.floor(i / 60)).padStart(2, '0')}:${String(i % 60).padStart(2, '0')}`
      return `192.0.2.${i % 3} - - [20/Nov/2026:10:${at} +0000] "GET / HTTP/1.1" 200 5 "-" "agent-${i % 2}"`
    })
    const log = file('t.log', lines.join('\n'))
    expect(await printedBy(suggest, ['--traffic', log])).toContain('  - key: ip\n')
    const byAgent = ['--caller', 'app', '--entry', 'app={user_agent}', '--domain', 'shop']
    const yaml = await printedBy(suggest, ['--traffic', log, ...byAgent])
    expect(yaml).toContain('domain: shop\n')
    expect(yaml).toContain('  - key: app\n')
    expect(yaml).toContain('60 requests of 2 callers')
  })

  it('marks keys as secret', async () => {
    const lines = Array.from({ length: 9 }, (_, i) =>
      JSON.stringify({ time: START / 1_000 + i, api_key: `sk_${i}`, method: 'GET', path: '/' }),
    )
    const yaml = await printedBy(suggest, ['--traffic', file('t.jsonl', lines.join('\n')), '--caller', 'api_key'])
    expect(yaml).toContain('  - key: api_key\n    secret: true\n')
    expect(yaml).not.toContain('sk_')
  })

  it('writes a rule file whatever callers write into paths', async () => {
    const paths = [
      '/"x"',
      "/it's",
      '/a: b',
      '/#c',
      '/{d}',
      '/*',
      '/ü',
      '/&e',
      '/- f',
      '/\u2028',
      '/a\nb',
      '/%',
      '/!x',
      '/|',
    ]
    const asked = paths.flatMap((path, i) =>
      Array.from({ length: 40 }, (_, n) => ({ ms: n * 1_000 + i, user: `u${n % 4}`, method: 'GET', path })),
    )
    const yaml = await printedBy(suggest, ['--traffic', file('t.jsonl', logOf(asked)), '--endpoints', '100'])
    const domain = loadRules([{ file: 'x', text: yaml }]).domains.get('api')
    const values = [...(domain?.root.branches.get('user')?.any?.branches.get('endpoint')?.exact.keys() ?? [])]
    expect(values).toEqual(
      expect.arrayContaining(['GET /"x"', "GET /it's", 'GET /a: b', 'GET /#c', 'GET /{d}', 'GET /|']),
    )
  })

  it('gives the same bytes twice', async () => {
    const log = file('t.jsonl', logOf(traffic()))
    expect(await printedBy(suggest, ['--traffic', log])).toBe(await printedBy(suggest, ['--traffic', log]))
  })

  it.each([
    [[], 'ARGUMENT_MISSING: suggest: no --traffic given.'],
    [['--traffic', '-'], 'TRAFFIC_READ_TWICE: --traffic: got "-".'],
    [['rules.yaml', '--traffic', 'T'], 'FLAG_UNKNOWN: suggest: got "rules.yaml".'],
    [['--traffic', 'T', '--percentile', '101'], 'PERCENT_INVALID: --percentile: got "101"; at most 100.'],
    [['--traffic', 'T', '--head-room', 'x'], 'PERCENT_INVALID: --head-room: got "x"; at most 1000.'],
    [['--traffic', 'T', '--endpoints', '0'], 'SIMULATE_NUMBER_INVALID: --endpoints: got "0"; at most 100.'],
    [['--traffic', 'T', '--caller', 'account'], 'TRAFFIC_EMPTY: --traffic: none of 1 lines is a request of a caller.'],
    [['--traffic', 'T', '--entry', 'user={x}'], 'CALLER_UNKNOWN: --caller: not given'],
  ])('%j is refused', async (args, message) => {
    const log = file('t.jsonl', logOf([{ ms: 0, user: 'ada', method: 'GET', path: '/' }]))
    expect(
      await refusedBy(
        suggest,
        args.map((arg) => (arg === 'T' ? log : arg)),
      ),
    ).toContain(message)
  })

  it('has its own --help', () => {
    expect(run(['suggest', '--help']).stdout).toMatch(/^sluice suggest: propose limits/)
  })
})
