import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { logTo } from '../../server/src/app/log/log.ts'
import { readConfig } from '../../server/src/app/settings/config.ts'
import { startService } from '../../server/src/app/wire.ts'

export const PER_SECOND = 200
/** A rate that a machine keeps however busy it is: what callers get is up to the limit, not to their share of the processor. */
export const SLOW_PER_SECOND = 20

const RULES = `
domain: api
descriptors:
  - key: caller
    rate_limit: {unit: second, requests_per_unit: ${PER_SECOND}}
  - key: slow_caller
    rate_limit: {unit: second, requests_per_unit: ${SLOW_PER_SECOND}}
  - key: tokens
    rate_limit: {unit: hour, requests_per_unit: 1000, algorithm: token_bucket}
  - key: jobs
    rate_limit: {requests_per_unit: 1, algorithm: concurrency}
  - key: brief_jobs
    rate_limit: {requests_per_unit: 1, algorithm: concurrency, lease_ttl: 4s}
`

/** Starts the service, with PER_SECOND calls a second for each caller. It ends with the test. */
export async function startApi(...args: readonly string[]): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-client-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  writeFileSync(join(dir, 'api.yaml'), RULES)
  const ports = ['--host=127.0.0.1', '--http-port=0', '--grpc-port=0', '--admin-port=0']
  const service = await startService(
    readConfig([`--rules=${join(dir, 'api.yaml')}`, ...ports, ...args], {}),
    logTo(() => {}),
  )
  onTestFinished(() => service.close())
  return `http://${service.addresses.http}`
}

/** A call to the API by somebody: a check, which is answered with the fields of its limit. */
export function callOf(caller: string, key = 'caller'): RequestInit {
  return {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ domain: 'api', descriptors: [{ entries: [{ key, value: caller }] }] }),
  }
}
