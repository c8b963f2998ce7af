import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { Client, credentials, type ServiceError } from '@grpc/grpc-js'
import { Callers } from '../../server/src/edge/callers/callers.ts'
import { checkServer } from '../../server/src/edge/check/check-server.ts'
import { Health } from '../../server/src/edge/health/health.ts'
import { registerHealth } from '../../server/src/edge/health/health-door.ts'
import { LeaseTokens } from '../../server/src/edge/leases/lease-tokens.ts'
import { registerLimiter } from '../../server/src/edge/limiter/limiter-door.ts'
import type { LimiterPort, ReservingPort } from '../../server/src/edge/limiter-port.ts'
import { type RlsDoor, registerRls } from '../../server/src/edge/rls/rls-door.ts'
import type { RlsOptions } from '../../server/src/edge/rls/rls-options.ts'
import { MAX_MESSAGE_BYTES } from '../../server/src/edge/rls/rls-request.ts'
import { GrpcServer } from '../../server/src/grpc/index.ts'
import { type Codec, codecOf, RLS_REQUEST, RLS_RESPONSE } from '../../server/src/protobuf/protos.suite.ts'

/** SHOULD_RATE_LIMIT is the one method of Envoy's rate limit service. */
export const SHOULD_RATE_LIMIT = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit'

/** A TestService is all doors of a limiter, with clients that are not ours. */
export interface TestService {
  readonly health: Health
  readonly rls: RlsDoor
  readonly grpcPort: number
  readonly url: string
  readonly client: Client
  /** ask calls ShouldRateLimit with grpc-js. What is no answer is `CODE: message`. */
  ask(request: object): Promise<unknown>
  /** call calls any method with grpc-js. */
  call(path: string, request: Codec, response: Codec, message: object): Promise<unknown>
  post(path: string, body: object | string): Promise<Response>
  close(): Promise<void>
}

/** Starts the doors on free ports, for callers who are trusted. */
export async function startService(
  limiter: LimiterPort,
  options: RlsOptions = {},
  leases: LeaseTokens = new LeaseTokens(),
): Promise<TestService> {
  const health = new Health()
  const callers = new Callers({ trustAll: true })
  const grpc = new GrpcServer({ limits: { maxMessageBytes: MAX_MESSAGE_BYTES } })
  const rls = registerRls(grpc, limiter, options)
  registerLimiter(grpc, limiter, { leases, callers, ...options })
  registerHealth(grpc, health, ['envoy.service.ratelimit.v3.RateLimitService', 'sluice.v1.Limiter'])
  const address = await grpc.listen({ host: '127.0.0.1', port: 0 })
  const grpcPort = (address as { port: number }).port
  const http = checkServer(limiter as ReservingPort, { rls, leases, health, callers, ...options })
  await once(http.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  const client = new Client(`127.0.0.1:${grpcPort}`, credentials.createInsecure())
  const call: TestService['call'] = (path, request, response, message) =>
    new Promise((resolve) => {
      client.makeUnaryRequest(
        path,
        (object: object) => request.encode(object),
        (bytes: Buffer) => response.decode(bytes),
        message,
        (error: ServiceError | null, answer: unknown) =>
          resolve(error === null ? answer : `${error.code}: ${error.details}`),
      )
    })
  return {
    health,
    rls,
    grpcPort,
    url,
    client,
    call,
    ask: (request) => call(SHOULD_RATE_LIMIT, RLS_REQUEST, RLS_RESPONSE, request),
    post: (path, body) =>
      fetch(url + path, {
        method: 'POST',
        body: typeof body === 'string' ? body : JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      }),
    close: async () => {
      client.close()
      http.closeAllConnections()
      await Promise.all([grpc.close(), new Promise((resolve) => http.close(resolve))])
    },
  }
}

/** Reads an answer of /json the way an answer over gRPC is read here. */
export function fromJson(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(answer), (key, value) =>
    key === 'durationUntilReset' ? secondsOf(value as string) : value,
  )
}

function secondsOf(duration: string): object {
  const seconds = Number(duration.slice(0, -1))
  return seconds === 0 ? {} : { seconds }
}

export const codecs = {
  healthRequest: codecOf('grpc.health.v1.HealthCheckRequest'),
  healthListRequest: codecOf('grpc.health.v1.HealthListRequest'),
  healthListResponse: codecOf('grpc.health.v1.HealthListResponse'),
  healthResponse: codecOf('grpc.health.v1.HealthCheckResponse'),
}
