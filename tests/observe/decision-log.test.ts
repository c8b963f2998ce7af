import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { loadRules } from '../../src/core/rules/load.ts'
import { startWith } from '../cli/sluice-process.suite.ts'
import { sharedRedis } from '../servers/shared.ts'
import { until } from '../servers/until.mjs'
import { callsTo } from './service-calls.suite.ts'

const RULES = `
domain: d
descriptors:
  - key: user
    rate_limit: { unit: day, requests_per_unit: 1, algorithm: fixed_window, anchor: first_hit }
`
const VERSION = loadRules([{ file: 'd.yaml', text: RULES }]).version
const askOf = (user: string) => ({ domain: 'd', descriptors: [{ entries: [{ key: 'user', value: user }] }] })
const posted = (user: string): string => JSON.stringify(askOf(user))

/** A service with a decision log in a folder of its own. */
async function logging(env: Record<string, string> = {}, ...args: string[]) {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-decisions-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  writeFileSync(join(dir, 'd.yaml'), RULES)
  const path = join(dir, 'decisions.log')
  const service = await startWith({ SLUICE_DECISION_LOG: path, ...env }, '--rules', join(dir, 'd.yaml'), ...args)
  const records = (suffix = ''): Record<string, unknown>[] => {
    if (!existsSync(path + suffix)) return []
    const lines = readFileSync(path + suffix, 'utf8').split('\n')
    return lines.slice(0, -1).map((line) => JSON.parse(line))
  }
  return { service, path, records, ...callsTo(service) }
}

const withRedis = async (): Promise<string[]> => {
  const { url } = await sharedRedis()
  return ['--redis', url, '--redis-timeout', '20s', '--key-prefix', `decisions-${process.pid}-${performance.now()}:`]
}

describe('the decision log', () => {
  it('logs refusals, of every door, with the trace that they are part of', async () => {
    const { service, records, call, post } = await logging({ SLUICE_REGION: 'eu-1' })
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
    const traced = { traceparent: `00-${traceId}-00f067aa0ba902b7-00` }
    for (let i = 0; i < 2; i++) await call('envoy', askOf('a'), traced)
    await call('check', { requests: [askOf('a')] }, traced)
    await post('/v1/check', posted('a'), traced)
    service.child.kill('SIGTERM')
    await service.output
    const about = { domain: 'd', rule: 'user', key_kind: 'user', key: 'user=a', cost: 1 }
    const decided = { outcome: 'refused', reason: 'over_limit', region: 'eu-1', rules: VERSION, trace_id: traceId }
    expect(records()).toEqual(
      ['rls', 'grpc', 'http'].map((door) => ({
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        door,
        ...about,
        ...decided,
        latency_us: expect.any(Number),
      })),
    )
  })

  it.each([1, 2])(
    'is among the lines of the log, where it goes to standard output of %d processes',
    async (workers) => {
      const settings = workers === 1 ? [] : ['--workers', '2', ...(await withRedis())]
      const { service, post } = await logging({ SLUICE_DECISION_LOG: 'stdout' }, ...settings)
      for (let i = 0; i < 2; i++) await post('/v1/check', posted('a'))
      service.child.kill('SIGTERM')
      const lines = (await service.output).split('\n').filter((line) => line.startsWith('{'))
      expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ door: 'http', reason: 'over_limit' }])
    },
  )

  it('is one file, whole lines of all workers, and they agree on the version of the rules', async () => {
    const settings = ['--workers', '2', ...(await withRedis())]
    const { service, records, post } = await logging({ SLUICE_DECISION_LOG_SHARE: '1' }, ...settings)
    const asks = Array.from({ length: 200 }, (_, i) => post('/v1/check', posted(`u${i}`), { connection: 'close' }))
    await Promise.all(asks)
    service.child.kill('SIGTERM')
    await service.output
    expect(records()).toHaveLength(200)
    expect(new Set(records().map(({ key }) => key)).size).toBe(200)
    expect(new Set(records().map(({ rules }) => rules))).toEqual(new Set([VERSION]))
  })

  it('continues in a new file on SIGHUP, when the old one was moved', async () => {
    const { service, path, records, post } = await logging({ SLUICE_DECISION_LOG_SHARE: '1' })
    await post('/v1/check', posted('a'))
    await until('the first line is there', () => records().length === 1)
    renameSync(path, `${path}.moved`)
    service.child.kill('SIGHUP')
    await service.printed('rules were read again')
    await post('/v1/check', posted('b'))
    await until('the next line is in a new file', () => records().length === 1)
    expect(records('.moved')).toMatchObject([{ key: 'user=a' }])
    expect(records()).toMatchObject([{ key: 'user=b' }])
  })

  it('is put aside when it is long, and no line is lost', async () => {
    const settings = { SLUICE_DECISION_LOG_SHARE: '1', SLUICE_DECISION_LOG_SIZE: '1', SLUICE_DECISION_LOG_FILES: '3' }
    const { path, records, call } = await logging(settings)
    const long = 'x'.repeat(150)
    let asked = 0
    while (!existsSync(`${path}.1`)) {
      const requests = Array.from({ length: 256 }, () => askOf(`${long}${asked++}`))
      await call('check', { requests })
      await until('the lines are written', () => records('.1').length + records().length === asked)
    }
    expect(readFileSync(`${path}.1`).length).toBeLessThanOrEqual(1_048_576)
  })

  it('changes no decision where it cannot be written, and says so once', async () => {
    const { service, post } = await logging({
      SLUICE_DECISION_LOG: '/no-such-folder/decisions.log',
      SLUICE_DECISION_LOG_SHARE: '1',
    })
    expect(await post('/v1/check', posted('a'))).toMatch(/^200/)
    await service.printed('cannot be written')
    for (let i = 0; i < 3; i++) expect(await post('/v1/check', posted('a'))).toMatch(/^429/)
    service.child.kill('SIGTERM')
    const output = await service.output
    expect(output.match(/cannot be written/g)).toHaveLength(1)
    expect(output).toContain('ENOENT')
  })
})
