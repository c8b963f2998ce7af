import type { GrpcServer, StreamCall, UnaryCall } from '../../grpc/index.ts'
import { GrpcStatus } from '../../grpc/index.ts'
import { MalformedMessage, ProtoReader } from '../../protobuf/reader.ts'
import { bytesField, join, messageField, textField } from '../../protobuf/writer.ts'
import type { Health } from './health.ts'
import { MAX_WATCHES_OF_A_CONNECTION, WatchBound } from './watch-bound.ts'

/** HealthCheckResponse.ServingStatus, as a whole message: field 1, a varint. */
const SERVING = Uint8Array.of(0x08, 1)
const NOT_SERVING = Uint8Array.of(0x08, 2)
const SERVICE_UNKNOWN = Uint8Array.of(0x08, 3)

/** What envoyproxy/ratelimit calls itself: probes that came along with it ask for this name. */
const REFERENCE = 'ratelimit'

/** Has a gRPC server answer grpc.health.v1.Health for these services, and for '', the server itself. */
export function registerHealth(server: GrpcServer, health: Health, services: readonly string[]): void {
  const known = new Set(['', REFERENCE, ...services])
  const reader = new ProtoReader()
  const bound = new WatchBound()
  server.unary('/grpc.health.v1.Health/Check', (call) => check(call, reader, known, health))
  server.unary('/grpc.health.v1.Health/List', (call) => call.respond(listOf(known, health)))
  server.serverStreaming('/grpc.health.v1.Health/Watch', (call) => {
    const service = serviceOf(reader, call.message)
    if (service === undefined) call.end(GrpcStatus.INVALID_ARGUMENT, 'not a HealthCheckRequest')
    else if (admit(call, bound)) watch(call, known.has(service), health)
  })
}

function check(call: UnaryCall, reader: ProtoReader, known: ReadonlySet<string>, health: Health): void {
  const service = serviceOf(reader, call.message)
  if (service === undefined) call.fail(GrpcStatus.INVALID_ARGUMENT, 'not a HealthCheckRequest')
  else if (!known.has(service)) call.fail(GrpcStatus.NOT_FOUND, 'unknown service')
  else call.respond(statusOf(health.isServing))
}

/**
 * Counts a watch for as long as it lasts, or ends it. Beyond what a process can take, clients are answered that the
 * method does not exist: they then consider the server healthy (gRFC A17), where any other status would make them leave
 * it.
 */
function admit(call: StreamCall, bound: WatchBound): boolean {
  const { peer } = call
  const answer = bound.admit(peer)
  if (answer === 'admitted') call.onCancel(() => bound.leave(peer))
  else if (answer === 'too many') call.end(GrpcStatus.UNIMPLEMENTED, 'too many clients watch')
  else call.end(GrpcStatus.RESOURCE_EXHAUSTED, `a connection has at most ${MAX_WATCHES_OF_A_CONNECTION} watches`)
  return answer === 'admitted'
}

/**
 * Sends the state now and on every change. The call does not end before the process does: a service that is unknown now
 * may be known to the next version of the server.
 */
function watch(call: StreamCall, isKnown: boolean, health: Health): void {
  call.onCancel(health.onLeave(() => call.end(GrpcStatus.UNAVAILABLE, 'the server is going away')))
  if (!isKnown) call.write(SERVICE_UNKNOWN)
  else {
    call.write(statusOf(health.isServing))
    call.onCancel(health.watch((isServing) => call.write(statusOf(isServing))))
  }
}

/** Encodes a HealthListResponse: every service with its state. */
function listOf(known: ReadonlySet<string>, { isServing }: Health): Uint8Array {
  return join([...known].map((service) => messageField(1, textField(1, service), bytesField(2, statusOf(isServing)))))
}

function statusOf(isServing: boolean): Uint8Array {
  return isServing ? SERVING : NOT_SERVING
}

/** Reads a HealthCheckRequest: one text. */
function serviceOf(reader: ProtoReader, bytes: Uint8Array): string | undefined {
  try {
    let service = ''
    reader.open(bytes, 0, bytes.length)
    while (reader.at < bytes.length) {
      const tag = reader.tag(bytes.length)
      if (tag === 0x0a) service = reader.text(reader.part(bytes.length))
      else reader.skip(tag, bytes.length)
    }
    return service
  } catch (error) {
    if (error instanceof MalformedMessage) return undefined
    throw error
  } finally {
    reader.close()
  }
}
