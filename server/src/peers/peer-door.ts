import { createHmac, timingSafeEqual } from 'node:crypto'
import type { GrpcServer, UnaryCall } from '../grpc/index.ts'
import { GrpcStatus } from '../grpc/index.ts'
import { decodeHello, encodeHello, type PeerCluster } from './peer-cluster.ts'
import { decodeJobs, encodeAnswers } from './peer-jobs.ts'
import { PEER_FIELD, PEER_METHODS } from './peer-link.ts'
import type { PeersStore } from './peers-store.ts'

const NO_BYTES = new Uint8Array(0)

/** Returns what nodes with the same secret send each other, to show that they have it. */
export function peerToken(secret: string): string {
  return createHmac('sha256', secret).update('sluice peers 1').digest('hex')
}

/** Has a gRPC server answer other nodes of the cluster, and no one else. */
export function registerPeers(server: GrpcServer, cluster: PeerCluster, store: PeersStore, token: string): void {
  const expected = Buffer.from(token)
  const guarded = (work: (call: UnaryCall) => Uint8Array | Promise<Uint8Array>) => (call: UnaryCall) => {
    const given = Buffer.from(String(call.metadata.get(PEER_FIELD) ?? ''))
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
      call.fail(GrpcStatus.PERMISSION_DENIED, 'only for peers: SLUICE_SECRET must be the same on every node')
      return
    }
    answer(call, work)
  }
  server.unary(
    PEER_METHODS.hello,
    guarded(({ message }) => encodeHello(cluster.heard(decodeHello(message)))),
  )
  server.unary(
    PEER_METHODS.run,
    guarded(async ({ message }) => {
      const jobs = decodeJobs(Buffer.from(message))
      return encodeAnswers(await Promise.all(jobs.map((job) => store.serve(job))))
    }),
  )
  server.unary(
    PEER_METHODS.give,
    guarded(({ message }) => {
      cluster.take(message)
      return NO_BYTES
    }),
  )
}

function answer(call: UnaryCall, work: (call: UnaryCall) => Uint8Array | Promise<Uint8Array>): void {
  const malformed = (error: unknown): void => {
    call.fail(GrpcStatus.INVALID_ARGUMENT, error instanceof Error ? error.message : String(error))
  }
  try {
    const bytes = work(call)
    if (bytes instanceof Promise) bytes.then((all) => call.respond(all), malformed)
    else call.respond(bytes)
  } catch (error) {
    malformed(error)
  }
}
