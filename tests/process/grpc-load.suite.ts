import { Client, credentials, type ServiceError } from '@grpc/grpc-js'
import { keepAsking, type Load } from './load.suite.ts'

const METHOD = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit'

/** Formats a field of a protobuf message that has a length below 128. */
function field(number: number, content: Buffer | string): Buffer {
  const bytes = Buffer.from(content)
  return Buffer.concat([Buffer.of((number << 3) | 2, bytes.length), bytes])
}

/** Formats a RateLimitRequest about one user. */
export function rlsRequest(domain: string, user: string): Buffer {
  const entry = Buffer.concat([field(1, 'user'), field(2, user)])
  return Buffer.concat([field(1, domain), field(2, field(1, entry))])
}

/** How a RateLimitResponse begins that admits: field 1, the overall code, is 1. */
const OK = Buffer.of(0x08, 1)

/** Formats this machine as a number: `localhost` is two addresses, and round_robin would connect to both. */
function inNumbers(target: string): string {
  return target.replace('localhost', '127.0.0.1')
}

/** Connects to a target, over one connection of its own to each address. */
export function grpcClient(target: string, channel = credentials.createInsecure()): Client {
  return new Client(inNumbers(target), channel, {
    'grpc.use_local_subchannel_pool': 1,
    'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
  })
}

/** Asks sluice.v1.Limiter about one user. */
export function limiterCheck(client: Client, domain: string, user: string): Promise<Buffer> {
  return shouldRateLimit(client, field(1, rlsRequest(domain, user)), '/sluice.v1.Limiter/Check')
}

/** Makes a call, and resolves with the answer's bytes. */
export function shouldRateLimit(client: Client, request: Buffer, method = METHOD): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const same = (bytes: Buffer): Buffer => bytes
    const deadline = Date.now() + 60_000
    client.makeUnaryRequest(
      method,
      same,
      same,
      request,
      { deadline },
      (error: ServiceError | null, answer?: Buffer) => {
        if (error !== null || answer === undefined) reject(error ?? new Error('no answer'))
        else resolve(answer)
      },
    )
  })
}

/** Asks nodes (`host:port`) over gRPC, in turns, with eight callers on each connection. */
export function startGrpcLoad(nodes: readonly string[], connections: number): Load {
  const target = `ipv4:${nodes.map(inNumbers).join(',')}`
  const clients = Array.from({ length: connections }, () => grpcClient(target))
  const request = rlsRequest('load', 'alice')
  const call = async (caller: number): Promise<void> => {
    const answer = await shouldRateLimit(clients[caller % connections], request)
    if (!answer.subarray(0, 2).equals(OK)) throw new Error(`answered ${answer.toString('hex')}`)
  }
  return keepAsking(8 * connections, call, () => {
    for (const client of clients) client.close()
  })
}
