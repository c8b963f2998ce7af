import type { Client } from '@grpc/grpc-js'
import type { Started } from '../cli/sluice-process.suite.ts'
import { grpcClient, isAllowed, limiterCheck, rlsRequest, shouldRateLimit } from '../process/grpc-load.suite.ts'

/** PLANTED are values of requests that must not be seen in any metric. */
export const PLANTED = ['planted-secret-key', 'planted-user', 'planted-domain']

const [KEY, USER, DOMAIN] = PLANTED

const bodyOf = (domain: string, entries: Readonly<Record<string, string>>): string => {
  const list = Object.entries(entries).map(([key, value]) => ({ key, value }))
  return JSON.stringify({ domain, descriptors: [{ entries: list }] })
}

/** What is asked over HTTP: a rule of each kind, a domain without rules, and a descriptor that no rule matches. */
const REQUESTS = [
  bodyOf('api', { user: USER }),
  bodyOf('api', { shadow: 'a' }),
  bodyOf('api', { open: 'a' }),
  bodyOf('api', { closed: 'a' }),
  bodyOf('api', { api_key: KEY, tier: 'pro' }),
  bodyOf('api', { unmatched: 'a' }),
  bodyOf(DOMAIN, { user: USER }),
]

/** Budget is lent to nodes that a caller asks often. */
const LEASED = bodyOf('api', { leased: 'a' })
/** The rate of what comes often is reported. */
const SAMPLED = bodyOf('api', { sampled: 'a' })

/** How a RateLimitResponse begins that refuses: field 1, the overall code, is 2. */
const OVER_LIMIT = Buffer.of(0x08, 2)

const JSON_TYPE = { 'Content-Type': 'application/json' }

/** How many requests were admitted and refused over all doors. */
export interface Answered {
  readonly admitted: number
  readonly refused: number
}

export interface MixedLoad {
  /** Ends the load. It throws when a call was not answered. */
  stop(): Promise<Answered>
}

/** Asks nodes over every door, over several connections, so that each worker gets some. */
export function startMixedLoad(nodes: readonly Started[]): MixedLoad {
  const clients: Client[] = []
  const answered = { admitted: 0, refused: 0 }
  let isStopped = false
  const count = (isRefused: boolean): void => void (isRefused ? answered.refused++ : answered.admitted++)

  const askHttp = async ({ url }: Started, bodies: readonly string[]): Promise<void> => {
    for (let i = 0; !isStopped; i++) {
      const body = bodies[i % bodies.length]
      const response = await fetch(`${url}/v1/check`, { method: 'POST', body, headers: JSON_TYPE })
      await response.arrayBuffer()
      if (response.status !== 200 && response.status !== 429) throw new Error(`status ${response.status}`)
      count(response.status === 429)
    }
  }
  const askGrpc = async ({ grpc }: Started): Promise<void> => {
    const client = grpcClient(grpc)
    clients.push(client)
    const request = rlsRequest('api', USER)
    while (!isStopped) {
      const answer = await shouldRateLimit(client, request)
      count(answer.subarray(0, 2).equals(OVER_LIMIT))
      count(!isAllowed(await limiterCheck(client, 'api', USER)))
    }
  }
  const askers = nodes.flatMap((node) => [
    askHttp(node, REQUESTS),
    askHttp(node, [LEASED, SAMPLED]),
    askHttp(node, [LEASED]),
    askGrpc(node),
    askGrpc(node),
  ])
  const all = Promise.all(askers)
  // It is awaited at the end; until then, nobody listens to what goes wrong.
  all.catch(() => {})
  return {
    stop: async () => {
      isStopped = true
      await all
      for (const client of clients) client.close()
      return answered
    },
  }
}
