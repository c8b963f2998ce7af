import { fileURLToPath } from 'node:url'
import protobuf from 'protobufjs'

const directory = fileURLToPath(new URL('../../proto/', import.meta.url))
const root = new protobuf.Root()
root.resolvePath = (_, target) => (target.startsWith('/') ? target : directory + target)
root.loadSync([
  'sluice/v1/limiter.proto',
  'sluice/v1/ledger.proto',
  'envoy/service/ratelimit/v3/rls.proto',
  'grpc/health/v1/health.proto',
])

/** A message type of proto/, written and read by an implementation that is not ours. */
export interface Codec {
  encode(object: object): Buffer
  /** Returns a plain object: enums by name, numbers as numbers, what was not sent is left out. */
  decode(bytes: Uint8Array): unknown
}

export function codecOf(type: string): Codec {
  const found = root.lookupType(type)
  return {
    encode: (object) => Buffer.from(found.encode(found.fromObject(object)).finish()),
    decode: (bytes) => found.toObject(found.decode(bytes), { enums: String, longs: Number, bytes: String }),
  }
}

export const RLS_REQUEST = codecOf('envoy.service.ratelimit.v3.RateLimitRequest')
export const RLS_RESPONSE = codecOf('envoy.service.ratelimit.v3.RateLimitResponse')
