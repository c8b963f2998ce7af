import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { run, startWith } from '../cli/sluice-process.suite.ts'

const CLOCK = new URL('./virtual-clock.mjs', import.meta.url).href
const SECRET = 'agreement-of-sixteen-characters'
const START = Date.UTC(2026, 10, 20, 9)
const REQUESTS = 600

/** Every algorithm, and what else changes how hits are counted. */
const LEAF = `
domain: api
descriptors:
  - key: user
    rate_limit: { name: sliding, unit: second, requests_per_unit: 6 }
    descriptors:
      - key: endpoint
        value: POST /orders
        rate_limits:
          - { name: fixed, algorithm: fixed_window, unit: second, requests_per_unit: 3, count_denied: true }
          - { name: day, algorithm: fixed_window, calendar: { unit: day }, requests_per_unit: 90 }
      - key: endpoint
        value: GET /items*
        rate_limit: { name: log, algorithm: sliding_log, window: 700ms, requests_per_unit: 3 }
  - key: user
    value: root
    rate_limit: { unlimited: true }
  - key: ip
    rate_limit: { name: bucket, algorithm: token_bucket, unit: second, requests_per_unit: 4, burst: 9, cost: 2 }
  - key: ip
    cidr: 10.1.0.0/16
    rate_limit: { name: near, algorithm: gcra, unit: second, requests_per_unit: 20, burst: 3 }
  - key: api_key
    secret: true
    rate_limit: { name: keys, algorithm: leaky_bucket, unit: second, requests_per_unit: 9, burst: 12 }
  - key: path
    shadow_mode: true
    rate_limit: { name: shadow, algorithm: fixed_window, anchor: first_hit, window: 900ms, requests_per_unit: 5 }
`
const PATH = `
domain: api
evaluate: path
descriptors:
  - key: ip
    rate_limit: { name: parts, unit: second, sub_windows: 4, requests_per_unit: 9 }
    descriptors:
      - key: user
        rate_limit: { name: of-user, algorithm: gcra, unit: second, requests_per_unit: 5, burst: 2 }
        descriptors:
          - key: endpoint
            rate_limit: { name: of-endpoint, unit: minute, requests_per_unit: 40 }
`

interface Sent {
  readonly timeMs: number
  readonly user: string
  readonly ip: string
  readonly apiKey: string
  readonly method: string
  readonly path: string
}

/** Draws requests of a few busy callers, with pauses between bursts. */
function drawn(): Sent[] {
  let seed = 20_261_120
  const below = (most: number): number => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((seed / 2 ** 32) * most)
  }
  let timeMs = START
  return Array.from({ length: REQUESTS }, () => {
    timeMs += below(40) === 0 ? below(5_000) : below(60)
    const who = below(5)
    const [method, path] = [
      ['GET', '/items'],
      ['GET', '/items/7'],
      ['POST', '/orders'],
      ['PUT', '/other|=%'],
    ][below(4)]
    const ip = below(2) === 0 ? `10.1.0.${who}` : `192.0.2.${who}`
    return { timeMs, user: who === 0 ? 'root' : `ü${who}`, ip, apiKey: `sk_live_0123456789_${who}`, method, path }
  })
}

/** The descriptors of a request, as a gateway would send them for each of the files. */
const entries = (...pairs: (readonly [string, string])[]) => ({
  entries: pairs.map(([key, value]) => ({ key, value })),
})
const DESCRIPTORS: Record<string, (sent: Sent) => object[]> = {
  leaf: ({ user, ip, apiKey, method, path }) => [
    entries(['user', user]),
    entries(['user', user], ['endpoint', `${method} ${path}`]),
    entries(['ip', ip]),
    entries(['api_key', apiKey]),
    entries(['path', path]),
  ],
  path: ({ user, ip, method, path }) => [entries(['ip', ip], ['user', user], ['endpoint', `${method} ${path}`])],
}

const lineOf = ({ timeMs, user, ip, apiKey, method, path }: Sent): string =>
  JSON.stringify({
    start_time: new Date(timeMs).toISOString(),
    client_ip: ip,
    user,
    key: apiKey,
    method,
    path: `${path}?q=1`,
  })

const FLAGS = ['--entry', 'api_key={key}']

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'sluice-agreement-'))
  onTestFinished(() => rmSync(made, { recursive: true }))
  return made
}

/** Sends requests to a service, whose clock shows the time of each. Returns whether each was allowed, and its log. */
async function served(dir: string, rules: string, requests: readonly Sent[], descriptors: (sent: Sent) => object[]) {
  const [clock, log] = [join(dir, 'clock'), join(dir, 'served.jsonl')]
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleLE(START - 60_000)
  writeFileSync(clock, bytes)
  const file = openSync(clock, 'r+')
  const env = { NODE_OPTIONS: `--import ${CLOCK}`, VIRTUAL_CLOCK: clock, SLUICE_SECRET: SECRET }
  const logged = ['--decision-log', log, '--decision-log-share', '1', '--decision-log-refusals', '999999']
  const { child, url, output } = await startWith(env, '--rules', rules, ...logged)
  const allowed: boolean[] = []
  for (const sent of requests) {
    bytes.writeDoubleLE(sent.timeMs)
    writeSync(file, bytes, 0, bytes.length, 0)
    const response = await fetch(`${url}/v1/check`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ domain: 'api', descriptors: descriptors(sent) }),
    })
    allowed.push(((await response.json()) as { allowed: boolean }).allowed)
  }
  child.kill('SIGTERM')
  await output
  return { allowed, log: linesOf(log) }
}

const linesOf = (file: string): Record<string, unknown>[] =>
  readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

/** Leaves out what a replay does not know: the door, and how long the decision took. */
const decided = ({ door, latency_us, ...rest }: Record<string, unknown>): object => rest

describe.each([
  ['leaf', LEAF],
  ['path', PATH],
])('a replay through rules of the kind %s', (kind, text) => {
  it('decides each request as a service does that was sent the same', async () => {
    const dir = folder()
    const [rules, log, decisions] = [join(dir, 'rules.yaml'), join(dir, 'access.jsonl'), join(dir, 'replayed.jsonl')]
    const requests = drawn()
    writeFileSync(rules, text)
    writeFileSync(log, `${requests.map(lineOf).join('\n')}\n`)
    const service = await served(dir, rules, requests, DESCRIPTORS[kind])
    const args = ['simulate', rules, '--traffic', log, '--decisions', decisions, '--json']
    const { stdout, stderr } = run([...args, ...(kind === 'leaf' ? FLAGS : [])], { env: { SLUICE_SECRET: SECRET } })
    expect(stderr).toBe('')
    const replayed = linesOf(decisions)
    expect(replayed).toHaveLength(REQUESTS)
    expect(replayed.map(({ outcome }) => outcome === 'allowed')).toEqual(service.allowed)
    // Which rule decided, about which key, why, at what time.
    expect(replayed.map(decided)).toEqual(service.log.map(decided))
    const refused = service.allowed.filter((each) => !each).length
    expect(refused).toBeGreaterThan(50)
    expect(JSON.parse(stdout)).toMatchObject({ totals: { requests: REQUESTS, refused } })
  })
})
