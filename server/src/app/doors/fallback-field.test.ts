import { describe, expect, it, onTestFinished } from 'vitest'
import { RuleDirectory } from '../../../../src/sources/rule-directory.suite.ts'
import { startRedis } from '../../../../tests/servers/redis.mjs'
import { until } from '../../../../tests/servers/until.mjs'
import { startApp, startGateway } from '../gateway/gateway.suite.ts'
import { logTo } from '../log/log.ts'
import { readConfig } from '../settings/config.ts'
import { startService } from '../wire.ts'

const RULES = `
domain: api
defaults: { timeout_ms: 5000 }
descriptors:
  - {key: local, rate_limit: {unit: day, requests_per_unit: 1000}}
  - {key: open, rate_limit: {on_store_failure: open, unit: day, requests_per_unit: 1000}}
  - {key: closed, rate_limit: {on_store_failure: closed, unit: day, requests_per_unit: 1000}}
`
const PORTS = ['--host', '127.0.0.1', '--http-port', '0', '--grpc-port', '0', '--admin-port', '0']
const headers = { connection: 'close', 'content-type': 'application/json' }

describe('without Redis', () => {
  it('answers of HTTP doors say how rules decided, and with it they say nothing', async () => {
    const server = await startRedis()
    onTestFinished(() => server.stop())
    const rules = new RuleDirectory({ 'api.yaml': RULES })
    const args = ['--rules', rules.path, '--redis', server.url, '--health-needs-redis', ...PORTS]
    const service = await startService(
      readConfig(args, {}),
      logTo(() => {}),
    )
    onTestFinished(() => service.close())
    const url = `http://${service.addresses.http}`
    const told = async (path: string, ...keys: string[]): Promise<string | null> => {
      const body = JSON.stringify({
        domain: 'api',
        descriptors: keys.map((key) => ({ entries: [{ key, value: 'a' }] })),
      })
      const response = await fetch(url + path, { method: 'POST', body, headers })
      await response.arrayBuffer()
      return response.headers.get('sluice-fallback')
    }
    const doorsAndKeys = ['/v1/check', '/v1/acquire', '/json'].flatMap((path) =>
      ['local', 'open', 'closed'].map((key) => [path, key] as const),
    )
    await until('Redis is there', async () => (await fetch(`${url}/readyz`)).ok)
    for (const [path, key] of doorsAndKeys) expect(await told(path, key)).toBeNull()
    await server.kill()
    await until('the failure is noticed', async () => (await told('/v1/check', 'local')) !== null)
    for (const [path, key] of doorsAndKeys) expect(await told(path, key)).toBe(key)
    expect(await told('/v1/check', 'local', 'open')).toBe('open, local')
  })

  it.each([
    [[], null],
    [['--show-fallback'], 'local'],
  ])('a gateway with %j sends its clients %j', async (args, value) => {
    const server = await startRedis()
    onTestFinished(() => server.stop())
    const app = await startApp((_, response) => response.end('hello'))
    const { url, admin } = await startGateway(['--to', app, '--limit', '1000/1d', '--redis', server.url, ...args])
    await server.kill()
    const answer = async () => {
      const response = await fetch(url, { headers: { connection: 'close' } })
      return [response.status, await response.text(), response.headers.get('sluice-fallback')]
    }
    await until('a limit decided without Redis', async () => {
      await answer()
      return /^sluice\.fallback\.local: [1-9]/m.test(await (await fetch(`${admin}/stats`)).text())
    })
    expect(await answer()).toEqual([200, 'hello', value])
  })
})
