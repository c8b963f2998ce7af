import type { RedisClientOptions, RedisFunctions, RedisModules, RedisScripts } from '@redis/client'
import type { RedisAddress } from './address.ts'

/** The client's options, for RESP 2. */
export type ClientOptions = RedisClientOptions<RedisModules, RedisFunctions, RedisScripts, 2>

/** The type of texts in replies, as the client's type mapping calls it: RESP_TYPES.BLOB_STRING. */
const BLOB_STRING = 36

/** AS_BUFFERS has the client answer with bytes, not with text. */
export const AS_BUFFERS = { typeMapping: { [BLOB_STRING]: Buffer } }

const CONNECT_TIMEOUT_MS = 1_000
const FIRST_RETRY_MS = 50
const MAX_RETRY_MS = 1_000

/**
 * clientOptions are those of every connection. No command waits for a connection (disableOfflineQueue), a server that
 * does not say anything for three seconds although it is asked every second counts as dead (without that, a lost
 * machine goes unnoticed for a quarter of an hour), and replies are RESP 2, which every Redis and every fork of it speaks.
 */
export function clientOptions({ tls, certificates, username, password, database }: RedisAddress): ClientOptions {
  return {
    RESP: 2,
    disableOfflineQueue: true,
    // CLIENT SETINFO came with Redis 7.2, and an ACL that names it is refused by older ones.
    disableClientInfo: true,
    // The batcher has deadlines of its own; the library's would cost an AbortSignal for each call.
    commandOptions: { timeout: undefined },
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(database !== 0 && { database }),
    socket: {
      connectTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: 3_000,
      reconnectStrategy: false,
      noDelay: true,
      ...(tls && { tls: true, ...certificates }),
    },
  } as object as ClientOptions
}

/** retryDelayMs grows from 50 ms to a second, with jitter, so that nodes do not come back in step. */
export function retryDelayMs(attempt: number): number {
  const delayMs = Math.min(FIRST_RETRY_MS * 2 ** attempt, MAX_RETRY_MS)
  return delayMs / 2 + (Math.random() * delayMs) / 2
}
