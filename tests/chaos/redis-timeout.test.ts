import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { logTo } from '../../server/src/app/log/log.ts'
import { readConfig } from '../../server/src/app/settings/config.ts'
import { startService } from '../../server/src/app/wire.ts'
import { createLimiter } from '../../src/library/create-limiter.ts'
import { rateLimit } from '../../src/library/rate-limit.ts'
import { replyTo } from '../../src/stores/redis/connection/fake-connection.suite.ts'
import { startProxy } from '../servers/proxy.mjs'
import { sharedRedis } from '../servers/shared.ts'
import { until } from '../servers/until.mjs'

const RULES = `
domain: d
descriptors:
  - key: user
    rate_limit: {unit: hour, requests_per_unit: 3, algorithm: fixed_window}
  - key: leased
    rate_limit: {unit: hour, requests_per_unit: 3, algorithm: fixed_window, consistency: leased}
  - key: hasty
    rate_limit: {unit: hour, requests_per_unit: 3, algorithm: fixed_window, timeout_ms: 1, on_store_failure: closed}
`

/** Starts the service with --redis-timeout, on a Redis whose replies the test can hold back. */
async function startSlow(timeout: string) {
  const proxy = await startProxy((await sharedRedis()).port)
  const dir = mkdtempSync(join(tmpdir(), 'sluice-slow-'))
  writeFileSync(join(dir, 'd.yaml'), RULES)
  const ports = ['--host=127.0.0.1', '--http-port=0', '--grpc-port=0', '--admin-port=0']
  const args = [`--rules=${dir}`, `--redis=${proxy.url}`, `--redis-timeout=${timeout}`, ...ports]
  const service = await startService(
    readConfig(args, {}),
    logTo(() => {}),
  )
  onTestFinished(async () => {
    await service.close()
    await proxy.stop()
    rmSync(dir, { recursive: true })
  })
  const ask = async (key: string): Promise<unknown> => {
    const body = JSON.stringify({ domain: 'd', descriptors: [{ entries: [{ key, value: randomUUID() }] }] })
    const headers = { 'content-type': 'application/json' }
    return (await fetch(`http://${service.addresses.http}/v1/check`, { method: 'POST', body, headers })).json()
  }
  return { proxy, ask }
}

it.each(['user', 'leased'])('a rule without a deadline waits for --redis-timeout (%s)', async (key) => {
  const { proxy, ask } = await startSlow('60s')
  await until('Redis decides', async () => !JSON.stringify(await ask(key)).includes('fallback'))
  proxy.blackhole()
  const patient = ask(key)
  expect(JSON.stringify(await ask('hasty'))).toContain('"fallback":"closed"')
  await proxy.heal()
  expect(JSON.stringify(await patient)).not.toContain('fallback')
})

/** A SlowClient is a client of the app's whose replies wait until the test lets them go. */
function slowClient() {
  const held: (() => void)[] = []
  const sendCommand = (args: readonly (string | Buffer)[]): Promise<unknown> =>
    new Promise((resolve) => held.push(() => resolve(replyTo(args))))
  return { client: { isReady: true, sendCommand }, letGo: () => held.splice(0).forEach((go) => void go()) }
}

const HASTY = { timeoutMs: 1, onStoreFailure: 'closed' } as const

it('redisTimeoutMs of the library does the same for limits', async () => {
  const { client, letGo } = slowClient()
  const shared = { limit: 3, window: '1d', redis: client, redisTimeoutMs: 60_000 } as const
  const patient = rateLimit({ ...shared, name: 'patient' }).check('a')
  const hasty = await rateLimit({ ...shared, name: 'hasty', ...HASTY }).check('a')
  expect(hasty.fallback).toBe('closed')
  letGo()
  expect(await patient).not.toHaveProperty('fallback')
})

it('redisTimeoutMs of the library does the same for rules', async () => {
  const { client, letGo } = slowClient()
  const rate_limit = { unit: 'hour', requests_per_unit: 3, algorithm: 'fixed_window' } as const
  const descriptors = [
    { key: 'user', rate_limit },
    { key: 'hasty', rate_limit: { ...rate_limit, timeout_ms: 1, on_store_failure: 'closed' as const } },
  ]
  const limiter = createLimiter({ rules: { domain: 'd', descriptors }, redis: client, redisTimeoutMs: 60_000 })
  const ask = (key: string) => limiter.check({ domain: 'd', descriptors: [{ entries: [{ key, value: 'a' }] }] })
  const patient = ask('user')
  expect((await ask('hasty')).tightest?.verdict.fallback).toBe('closed')
  letGo()
  expect((await patient).tightest?.verdict).not.toHaveProperty('fallback')
})

it.each([0, 1.5, '5', 60_001])('a redisTimeoutMs of %o is refused immediately', (redisTimeoutMs) => {
  const options = { limit: 1, window: '1m', redis: 'redis://127.0.0.1:1', redisTimeoutMs } as never
  expect(() => rateLimit(options)).toThrow('GATE_OPTIONS_INVALID: redisTimeoutMs: got')
})
