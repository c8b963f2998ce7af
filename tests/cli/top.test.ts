import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { RuleDirectory } from '../../src/sources/rule-directory.suite.ts'
import { reapAtExit } from '../servers/reaper.mjs'
import { until } from '../servers/until.mjs'
import { ENV, run, start } from './sluice-process.suite.ts'

const RULES = 'domain: api\ndescriptors:\n  - key: user\n    rate_limit: { unit: day, requests_per_unit: 5 }\n'
const MAIN = fileURLToPath(new URL('../../server/bin/sluice.mjs', import.meta.url))

/** A real service cannot be made to have such a key: it is escaped before it gets here. Others may be less careful. */
const HOSTILE = '\u001b[2J\u001b]0;owned\u0007\u202e'

/** An admin port that answers with a hostile key, and knows which token it was shown. */
async function adminOf() {
  const tokens: (string | undefined)[] = []
  let isThere = true
  const server = createServer((request, response) => {
    tokens.push(request.headers.authorization)
    if (!isThere) return void response.destroy()
    const path = request.url?.split('?')[0]
    if (path === '/stats') return void response.end('{}')
    if (path !== '/admin/v1/hot-keys') return void response.writeHead(404).end()
    const key = { domain: 'api', rule: 'user', key: HOSTILE, count: 3, share: 1 }
    response.end(JSON.stringify({ by: 'refused', minutes: 5, scope: 'node', nodes: 1, rules: [], keys: [key] }))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    tokens,
    setThere: (to: boolean) => {
      isThere = to
    },
  }
}

/** Runs `sluice top`, and collects what it prints. */
function topOf(env: Record<string, string>, ...args: string[]) {
  const child = spawn(process.execPath, [MAIN, 'top', ...args], { env: { ...ENV, ...env } })
  reapAtExit(child)
  onTestFinished(() => void child.kill('SIGKILL'))
  let printed = ''
  child.stdout.on('data', (chunk) => {
    printed += chunk
  })
  return { child, lines: () => printed.split('\n').slice(0, -1), ended: once(child, 'exit') }
}

describe('sluice top', () => {
  it('shows a service once', async () => {
    const { url, admin } = await start('--rules', new RuleDirectory({ 'api.yaml': RULES }).path)
    const entries = [{ key: 'user', value: '42' }]
    const body = JSON.stringify({ domain: 'api', descriptors: [{ entries }] })
    await fetch(`${url}/v1/check`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    const { status, stdout } = run(['top', '--admin', admin, '--once', '--by', 'active', '--interval', '100ms'])
    expect(status).toBe(0)
    expect(stdout).toMatch(/^sluice top {2}http:\/\/\S+ .*most active, last 5 min$/m)
    expect(stdout).toMatch(/^store in memory$/m)
    expect(stdout).toMatch(/^user=42 +api\/user +1 100\.0 %$/m)
    expect(stdout).not.toContain('\u001b')
  })

  it('prints one document for scripts', async () => {
    const { admin } = await start()
    const { status, stdout } = run(['top', '--admin', admin, '--once', '--json', '--interval', '100ms'])
    expect(status).toBe(0)
    expect(stdout.trim().split('\n')).toHaveLength(1)
    expect(JSON.parse(stdout)).toMatchObject({ admin, perSecond: 0, hotKeys: { by: 'refused', minutes: 5, keys: [] } })
  })

  it('shows its token, and lets no key act on the terminal', async () => {
    const { url, tokens } = await adminOf()
    const { lines, ended } = topOf({ SLUICE_ADMIN_TOKEN: 'a token' }, '--admin', url, '--once', '--interval', '100ms')
    await ended
    expect(lines().join('\n')).toContain('\\u{1b}[2J\\u{1b}]0;owned\\u{7}\\u{20… api/user')
    expect(lines().join('\n')).not.toMatch(/\p{C}(?<!\n)/u)
    expect(new Set(tokens)).toEqual(new Set(['Bearer a token']))
  })

  it('says that a service is gone, keeps trying, and finds it again', async () => {
    const { url, setThere } = await adminOf()
    const { lines } = topOf({}, '--admin', url, '--json', '--interval', '100ms')
    const last = () => JSON.parse(lines().at(-1) ?? '{}')
    await until('it is seen', () => last().hotKeys)
    setThere(false)
    await until('it is missed', () => last().error)
    expect(last()).toEqual({ admin: url, error: expect.stringMatching(/^no answer: /) })
    setThere(true)
    await until('it is seen again', () => last().hotKeys)
  })

  it.each([
    [['--admin', 'http://127.0.0.1:1', '--once'], /^ADMIN_UNREACHABLE: http:\/\/127\.0\.0\.1:1: no answer: /],
    [['--admin', 'http://me:hunter2@a'], /^ADMIN_URL_INVALID: --admin: (?!.*hunter2)/],
    [['--by', 'name'], /^CHOICE_INVALID: --by: /],
    [['--minutes', '2'], /^CHOICE_INVALID: --minutes: /],
    [['--colour'], /^FLAG_UNKNOWN: top: /],
    [['a'], /^FLAG_UNKNOWN: top: /],
  ])('fails with a reason: %j', (args, reason) => {
    const { status, stderr } = run(['top', ...args])
    expect(status).toBe(1)
    expect(stderr).toMatch(reason)
  })
})
