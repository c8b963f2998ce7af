import { SluiceError } from 'sluice/internal/core/errors'
import type { SettingSources } from './setting-sources.ts'

export interface GrpcConfig {
  readonly host: string
  readonly port: number
  /** A Unix socket instead of a port. */
  readonly socketPath: string | undefined
  readonly tls: GrpcTls | undefined
  /** 0: connections may last for ever. */
  readonly maxConnectionAgeMs: number
  readonly maxConnectionAgeGraceMs: number
  /** Undefined: the default of the server. */
  readonly maxStreams: number | undefined
  readonly maxConnections: number | undefined
  readonly maxHeldMib: number | undefined
}

/** The files, and the name that client certificates must be issued to. */
export interface GrpcTls {
  readonly certFile: string
  readonly keyFile: string
  readonly clientCaFile: string | undefined
  readonly clientSan: string | undefined
}

export function grpcOf(from: SettingSources, host: string): GrpcConfig {
  return {
    host: from.value('grpc-host') ?? host,
    port: from.value('grpc-port'),
    socketPath: from.value('grpc-socket'),
    tls: from.value('grpc-tls') ? grpcTlsOf(from) : undefined,
    maxConnectionAgeMs: from.value('grpc-max-connection-age'),
    maxConnectionAgeGraceMs: from.value('grpc-max-connection-age-grace'),
    maxStreams: from.value('grpc-max-streams'),
    maxConnections: from.value('grpc-max-connections'),
    maxHeldMib: from.value('grpc-max-held'),
  }
}

function grpcTlsOf(from: SettingSources): GrpcTls {
  const certFile = from.value('grpc-tls-cert')
  const keyFile = from.value('grpc-tls-key')
  const clientCaFile = from.value('grpc-client-ca')
  const clientSan = from.value('grpc-client-san')
  const where = from.given('grpc-tls')?.where ?? '--grpc-tls'
  if (certFile === undefined) throw new SluiceError('TLS_INCOMPLETE', where, '--grpc-tls-cert is missing')
  if (keyFile === undefined) throw new SluiceError('TLS_INCOMPLETE', where, '--grpc-tls-key is missing')
  if (clientSan !== undefined && clientCaFile === undefined) {
    throw new SluiceError('TLS_INCOMPLETE', where, '--grpc-client-san is given without --grpc-client-ca')
  }
  return { certFile, keyFile, clientCaFile, clientSan }
}

/** Warns of a certificate that is given but not used. */
export function tlsWarnings(from: SettingSources): string[] {
  const certificate = from.given('grpc-tls-cert')
  if (certificate === undefined || from.value('grpc-tls')) return []
  return [`${certificate.where} is given, but TLS of gRPC is off: --grpc-tls turns it on`]
}
