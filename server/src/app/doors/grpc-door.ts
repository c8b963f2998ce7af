import { MAX_MESSAGE_BYTES } from '../../edge/rls/rls-request.ts'
import { GrpcServer } from '../../grpc/index.ts'
import type { Config } from '../settings/config.ts'
import type { GrpcConfig } from '../settings/grpc-settings.ts'
import type { Door } from './door.ts'
import { grpcTls } from './grpc-certificates.ts'
import { reachable } from './listen.ts'

/** Makes the server that the settings describe. */
export function grpcServer(config: GrpcConfig, failed: (error: unknown, path: string) => void): GrpcServer {
  const { tls, maxConnectionAgeMs, maxConnectionAgeGraceMs, maxStreams, maxConnections, maxHeldMib } = config
  return new GrpcServer({
    limits: {
      maxMessageBytes: MAX_MESSAGE_BYTES,
      maxConnectionAgeMs: maxConnectionAgeMs || Number.POSITIVE_INFINITY,
      connectionAgeGraceMs: maxConnectionAgeGraceMs || 1,
      ...(maxStreams !== undefined && { maxConcurrentStreams: maxStreams }),
      ...(maxConnections !== undefined && { maxConnections }),
      ...(maxHeldMib !== undefined && { maxHeldBytes: maxHeldMib * 1_048_576 }),
    },
    ...(tls !== undefined && { tls: grpcTls(tls) }),
    onError: failed,
  })
}

/** A gRPC server as a door. */
export function grpcDoor(server: GrpcServer, { grpc, drainTimeoutMs }: Config): Door {
  const isUnix = grpc.socketPath !== undefined
  return {
    listen: async (at) => {
      const address = await server.listen(at)
      return reachable('port' in address ? address.port : 0, at)
    },
    take: (socket) => server.accept(socket, isUnix),
    shed: (count) => server.shed(count, drainTimeoutMs),
    drain: (deadlineMs) => server.drain(deadlineMs),
  }
}
