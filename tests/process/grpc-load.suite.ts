import { Client, credentials, type ServiceError } from '@grpc/grpc-js'
import { keepAsking, type Load } from './load.suite.ts'

const METHOD = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit'

/** Formats a field of a protobuf message that has a length below 128. */
function field(number: number, content: Buffer | string): Buffer {
  const bytes = Buffer.from(content)
  return Buffer.concat([Buffer.of((number << 3) | 2, bytes.length), bytes])
}

/** Formats a RateLimitRequest about one user, or about the value of another key. */
export function rlsRequest(domain: string, value: string, key = 'user'): Buffer {
  const entry = Buffer.concat([field(1, key), field(2, value)])
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
export function limiterCheck(client: Client, domain: string, value: string, key?: string): Promise<Buffer> {
  return shouldRateLimit(client, field(1, rlsRequest(domain, value, key)), '/sluice.v1.Limiter/Check')
}

/** Reads the first field of the Decision in the Answer of a CheckResponse of sluice.v1.Limiter; a decision that refuses has it not. */
export function isAllowed(response: Buffer): boolean {
  let at = 0
  for (let level = 0; level < 2; level++) {
    // The tag of the message, and its length, whose last byte is below 128.
    at++
    while (response[at++] > 127);
  }
  return response[at] === 0x08 && response[at + 1] === 1
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
