import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { RuleDirectory, ruleText } from '../../src/sources/rule-directory.suite.ts'
import { startWith } from '../cli/sluice-process.suite.ts'
import { startRedis } from '../servers/redis.mjs'
import { until } from '../servers/until.mjs'

const SECRET = 'correct horse battery'
const PASSWORD = 'sw0rd%fish'

const JSON_TYPE = { 'content-type': 'application/json' }
const CHECK = '{"domain":"api","descriptors":[{"entries":[{"key":"user","value":"alice"}]}]}'

function recordsIn(output: string): Record<string, unknown>[] {
  return output
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

describe('the log of sluice serve', () => {
  it('is JSON where no terminal is, from the first line to the last', async () => {
    const rules = new RuleDirectory({ 'api.yaml': ruleText(2) })
    const { child, output, printed } = await startWith({ LOG_FORMAT: '' }, '--rules', rules.path)
    rules.replace('api.yaml', 'domain: api\ndescriptor: []\n')
    child.kill('SIGHUP')
    await printed('rules.refused')
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual([0, null])
    const records = recordsIn(await output)
    expect(records.map(({ event, level }) => `${level} ${event}`)).toEqual([
      'info service.started',
      'error rules.refused',
      'info drain.started',
      'info drain.closing',
      'info service.stopped',
    ])
    expect(records[0]).toMatchObject({
      http: expect.stringMatching(/^localhost:\d+$/),
      grpc: expect.stringMatching(/^localhost:\d+$/),
      counters: 'in memory',
      workers: 1,
      limits: 1,
      rules: [rules.path],
    })
    expect(records[1]).toMatchObject({ where: [`${rules.at('api.yaml')}:2:1`] })
  })

  it('does not keep the service from answering when no one reads it', async () => {
    const rules = new RuleDirectory({ 'api.yaml': ruleText(2) })
    const { child, url } = await startWith({ LOG_FORMAT: 'text' }, '--rules', rules.path)
    child.stdout?.pause()
    child.stdout?.removeAllListeners('data')
    // More than any pipe holds: each refusal is some 60 kilobytes.
    for (let i = 0; i < 10; i++) {
      rules.replace(
        'api.yaml',
        `domain: api\n${Array.from({ length: 400 }, (_, j) => `wrong_${i}_${j}: 1\n`).join('')}`,
      )
      child.kill('SIGHUP')
      expect((await fetch(`${url}/v1/check`, { method: 'POST', body: CHECK, headers: JSON_TYPE })).status).toBeLessThan(
        500,
      )
    }
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual([0, null])
  })

  it('records when Redis is lost and recovers, and never what is secret', async () => {
    const redis = await startRedis({ password: PASSWORD })
    const rules = new RuleDirectory({ 'api.yaml': ruleText(2) })
    const env = {
      LOG_FORMAT: 'json',
      LOG_LEVEL: 'debug',
      REDIS_URL: `127.0.0.1:${redis.port}`,
      REDIS_AUTH: PASSWORD,
      SLUICE_SECRET: SECRET,
    }
    const args = ['--rules', rules.path, '--health-needs-redis']
    const { child, output, printed, welcome } = await startWith(env, ...args)
    await printed('store.connected')
    const [{ http }] = recordsIn(welcome).filter(({ event }) => event === 'service.started')
    const health = async (): Promise<number> => (await fetch(`http://${http}/healthcheck`)).status
    expect(await health()).toBe(200)
    await redis.kill()
    await printed('store.lost')
    expect(await health()).toBe(500)
    await redis.restart()
    await printed('store.connected', 2)
    expect(await health()).toBe(200)
    await redis.pause()
    await until('the circuit breaker has opened', async () => {
      await fetch(`http://${http}/v1/check`, { method: 'POST', body: CHECK, headers: JSON_TYPE })
      return (await Promise.race([printed('"state":"open"'), undefined])) !== undefined
    })
    await redis.resume()
    child.kill('SIGTERM')
    await once(child, 'exit')
    const all = await output
    expect(recordsIn(all).length).toBeGreaterThan(5)
    for (const secret of [SECRET, PASSWORD, encodeURIComponent(PASSWORD), 'sw0rd']) expect(all).not.toContain(secret)
  })
})
