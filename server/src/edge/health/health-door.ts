import type { GrpcServer, StreamCall, UnaryCall } from '../../grpc/index.ts'
import { GrpcStatus } from '../../grpc/index.ts'
import { MalformedMessage, ProtoReader } from '../protobuf/reader.ts'
import type { Health } from './health.ts'

/** HealthCheckResponse.ServingStatus, as a whole message: field 1, a varint. */
const SERVING = Uint8Array.of(0x08, 1)
const NOT_SERVING = Uint8Array.of(0x08, 2)
const SERVICE_UNKNOWN = Uint8Array.of(0x08, 3)

/** What envoyproxy/ratelimit calls itself: probes that came along with it ask for this name. */
const REFERENCE = 'ratelimit'

/** registerHealth has a gRPC server answer grpc.health.v1.Health for these services, and for '', the server itself. */
export function registerHealth(server: GrpcServer, health: Health, services: readonly string[]): void {
  const known = new Set(['', REFERENCE, ...services])
  const reader = new ProtoReader()
  server.unary('/grpc.health.v1.Health/Check', (call) => check(call, reader, known, health))
  server.serverStreaming('/grpc.health.v1.Health/Watch', (call) => watch(call, reader, known, health))
}

function check(call: UnaryCall, reader: ProtoReader, known: ReadonlySet<string>, health: Health): void {
  const service = serviceOf(reader, call.message)
  if (service === undefined) call.fail(GrpcStatus.INVALID_ARGUMENT, 'not a HealthCheckRequest')
  else if (!known.has(service)) call.fail(GrpcStatus.NOT_FOUND, 'unknown service')
  else call.respond(statusOf(health.isServing))
}

/**
 * watch tells the state now and whenever it changes. The call does not end before the process does: a service that is
 * unknown now may be known to the next version of the server.
 */
function watch(call: StreamCall, reader: ProtoReader, known: ReadonlySet<string>, health: Health): void {
  const service = serviceOf(reader, call.message)
  if (service === undefined) {
    call.end(GrpcStatus.INVALID_ARGUMENT, 'not a HealthCheckRequest')
    return
  }
  call.onCancel(health.onLeave(() => call.end(GrpcStatus.UNAVAILABLE, 'the server is going away')))
  if (!known.has(service)) call.write(SERVICE_UNKNOWN)
  else {
    call.write(statusOf(health.isServing))
    call.onCancel(health.watch((isServing) => call.write(statusOf(isServing))))
  }
}

function statusOf(isServing: boolean): Uint8Array {
  return isServing ? SERVING : NOT_SERVING
}

/** serviceOf reads a HealthCheckRequest: one text. */
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
