import { fileURLToPath } from 'node:url'
import protobuf from 'protobufjs'

/** TYPE_URL is what rate limits are called on the wire. */
export const TYPE_URL = 'type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig'

const root = new protobuf.Root()
root.loadSync(
  ['discovery', 'rls_conf'].map((name) => fileURLToPath(new URL(`./proto/${name}.proto`, import.meta.url))),
  { keepCase: true },
)

const codecOf = (type: string) => {
  const found = root.lookupType(type)
  return {
    encode: (object: object): Buffer => Buffer.from(found.encode(found.fromObject(object)).finish()),
    decode: <T>(bytes: Uint8Array): T => found.toObject(found.decode(bytes), { enums: String, longs: Number }) as T,
  }
}

export const REQUEST = codecOf('envoy.service.discovery.v3.DiscoveryRequest')
export const RESPONSE = codecOf('envoy.service.discovery.v3.DiscoveryResponse')
export const CONFIG = codecOf('ratelimit.config.ratelimit.v3.RateLimitConfig')

/** A SeenRequest is a DiscoveryRequest, as protobufjs reads it. */
export interface SeenRequest {
  readonly version_info?: string
  readonly node?: { readonly id?: string; readonly metadata?: object }
  readonly type_url?: string
  readonly response_nonce?: string
  readonly error_detail?: { readonly code?: number; readonly message?: string }
}

/** Packs rate limits. */
export const resourceOf = (config: object): object => ({ type_url: TYPE_URL, value: CONFIG.encode(config) })

/** domainOf is rate limits of a domain: so many requests a minute for each user. */
export const domainOf = (domain: string, requests = 5): object => ({
  name: domain,
  domain,
  descriptors: [{ key: 'user', rate_limit: { unit: 'MINUTE', requests_per_unit: requests } }],
})
