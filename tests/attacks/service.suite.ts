import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ChannelCredentials, Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js'
import { onTestFinished } from 'vitest'
import { logTo } from '../../server/src/app/log/log.ts'
import { readConfig } from '../../server/src/app/settings/config.ts'
import { startService } from '../../server/src/app/wire.ts'
import { codecOf } from '../../server/src/protobuf/protos.suite.ts'

const RULES = `
domain: d
descriptors:
  - key: user
    rate_limit: {unit: hour, requests_per_unit: 3, algorithm: fixed_window, anchor: first_hit}
  - key: jobs
    rate_limit: {requests_per_unit: 1, algorithm: concurrency}
`

/** A check of somebody who has 3 an hour. */
export const ASK = { domain: 'd', descriptors: [{ entries: [{ key: 'user', value: 'alice' }] }] }
/** Asks for the one place that there is. */
export const JOB = { domain: 'd', descriptors: [{ entries: [{ key: 'jobs', value: 'a' }] }] }

/** Methods are the calls of the service over gRPC, with the messages that they take and return. */
const METHODS = {
  check: ['/sluice.v1.Limiter/Check', 'sluice.v1.CheckRequest', 'sluice.v1.CheckResponse'],
  acquire: ['/sluice.v1.Limiter/Acquire', 'sluice.v1.AcquireRequest', 'sluice.v1.AcquireResponse'],
  renew: ['/sluice.v1.Limiter/Renew', 'sluice.v1.RenewRequest', 'sluice.v1.RenewResponse'],
  release: ['/sluice.v1.Limiter/Release', 'sluice.v1.ReleaseRequest', 'sluice.v1.ReleaseResponse'],
  envoy: [
    '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit',
    'envoy.service.ratelimit.v3.RateLimitRequest',
    'envoy.service.ratelimit.v3.RateLimitResponse',
  ],
  health: ['/grpc.health.v1.Health/Check', 'grpc.health.v1.HealthCheckRequest', 'grpc.health.v1.HealthCheckResponse'],
} as const

/** A WholeService is the service as `sluice serve` starts it, in this process. */
export interface WholeService {
  readonly http: string
  readonly admin: string
  /** Sends JSON, with more headers or others. */
  post(path: string, body: object, headers?: Record<string, string>): Promise<Response>
  /** Makes a call over gRPC. What is no answer is `CODE: message`. */
  call(method: keyof typeof METHODS, message: object, headers?: Record<string, string>): Promise<unknown>
}

/** Starts the service on free ports of loopback. It ends with the test. */
export async function startWhole(
  args: readonly string[] = [],
  env: Record<string, string> = {},
  channel: ChannelCredentials = credentials.createInsecure(),
): Promise<WholeService> {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-attacks-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  writeFileSync(join(dir, 'd.yaml'), RULES)
  const ports = ['--host=127.0.0.1', '--http-port=0', '--grpc-port=0', '--admin-port=0']
  const config = readConfig([`--rules=${join(dir, 'd.yaml')}`, ...ports, ...args], env)
  const service = await startService(
    config,
    logTo(() => {}),
  )
  const client = new Client(service.addresses.grpc, channel)
  onTestFinished(async () => {
    client.close()
    await service.close()
  })
  const http = `http://${service.addresses.http}`
  return {
    http,
    admin: `http://${service.addresses.admin}`,
    post: (path, body, headers = {}) =>
      fetch(http + path, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json', connection: 'close', ...headers },
      }),
    call: (method, message, headers = {}) => {
      const [path, request, response] = METHODS[method]
      const metadata = new Metadata()
      for (const [name, value] of Object.entries(headers)) metadata.set(name, value)
      return new Promise((resolve) => {
        client.makeUnaryRequest(
          path,
          (object: object) => codecOf(request).encode(object),
          (bytes: Buffer) => codecOf(response).decode(bytes),
          message,
          metadata,
          (error: ServiceError | null, answer: unknown) =>
            resolve(error === null ? answer : `${error.code}: ${error.details}`),
        )
      })
    },
  }
}

/** The status of an answer, and the code of its problem. */
export async function problemOf(response: Response): Promise<[status: number, code: string | undefined]> {
  const { code } = (await response.json()) as { code?: string }
  return [response.status, code]
}
