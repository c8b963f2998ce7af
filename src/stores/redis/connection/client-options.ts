import type { RespClientOptions } from '../resp/resp-client.ts'
import type { HostPort, RedisAddress } from './address.ts'

const FIRST_RETRY_MS = 50
const MAX_RETRY_MS = 1_000

/** Returns the options for a connection to a node, or to the socket of the address if it has one. */
export function clientOptions(address: RedisAddress, node: HostPort | undefined): RespClientOptions {
  const { socketPath, tls, certificates, username, password, database, keepAlive } = address
  const at = socketPath ?? node
  if (at === undefined) throw new Error('no server is known')
  return { at, tls, certificates, username, password, database, ...(keepAlive !== undefined && { keepAlive }) }
}

/** Grows from 50 ms to a second, with jitter, so that nodes do not reconnect in step. */
export function retryDelayMs(attempt: number): number {
  const delayMs = Math.min(FIRST_RETRY_MS * 2 ** attempt, MAX_RETRY_MS)
  return delayMs / 2 + (Math.random() * delayMs) / 2
}
