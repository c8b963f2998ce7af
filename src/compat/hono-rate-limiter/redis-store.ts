import { SluiceError } from '../../core/errors.ts'
import { LUA_TEXTS } from './lua-texts.ts'
import type { ClientRateLimitInfo, Store } from './options.ts'

/** What RedisStore needs of a client, and what clients of Redis over HTTP have: @upstash/redis is one. */
export interface RedisClient {
  scriptLoad: (script: string) => Promise<string>
  evalsha: <TArgs extends unknown[], TData = unknown>(sha1: string, keys: string[], args: TArgs) => Promise<TData>
  del: (key: string) => Promise<number>
}

/** The options of hono-rate-limiter's RedisStore. */
export interface RedisStoreOptions {
  client: RedisClient
  /** What keys begin with. Default: `hrl:`. */
  readonly prefix?: string
  /** Restart the window with every hit. Default: false. */
  readonly resetExpiryOnChange?: boolean
}

const SCRIPT = LUA_TEXTS['hits-1']

let sha: Promise<string> | undefined

/** Returns what the script is called in Redis, by the Web Crypto API: runtimes at the edge have no other. */
async function sha1(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-1', new TextEncoder().encode(text))
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/**
 * Counts hits through a client of the app's, under the keys that hono-rate-limiter's RedisStore has. It is for Redis
 * over HTTP; over a socket, the option `redis` does more: batches, deadlines, a failure policy.
 */
export class RedisStore implements Store {
  readonly prefix: string
  readonly #client: RedisClient
  readonly #renews: string
  #windowMs = 60_000

  constructor({ client, prefix = 'hrl:', resetExpiryOnChange = false }: RedisStoreOptions) {
    this.prefix = prefix
    this.#client = client
    this.#renews = resetExpiryOnChange ? '1' : '0'
  }

  init({ windowMs }: { readonly windowMs: number }): void {
    this.#windowMs = windowMs
  }

  async get(key: string): Promise<ClientRateLimitInfo | undefined> {
    const hits = await this.#add(key, 0)
    return hits.totalHits === 0 ? undefined : hits
  }

  increment(key: string): Promise<ClientRateLimitInfo> {
    return this.#add(key, 1)
  }

  async decrement(key: string): Promise<void> {
    await this.#add(key, -1)
  }

  async resetKey(key: string): Promise<void> {
    await this.#client.del(this.prefix + key)
  }

  async #add(key: string, hits: number): Promise<ClientRateLimitInfo> {
    const reply = await this.#run([this.prefix + key], [String(hits), String(this.#windowMs), this.#renews])
    const [totalHits, leftMs] = (Array.isArray(reply) ? reply : []).map(Number)
    if (!Number.isInteger(totalHits) || !Number.isInteger(leftMs)) {
      throw new SluiceError('STORE_UNAVAILABLE', 'store', `Redis answered ${JSON.stringify(reply)}`)
    }
    return { totalHits, resetTime: leftMs < 0 ? undefined : new Date(Date.now() + leftMs) }
  }

  /** Runs the script. Only a server that does not know it, and so has done nothing, is asked again. */
  async #run(keys: string[], args: string[]): Promise<unknown> {
    sha ??= sha1(SCRIPT)
    const name = await sha
    try {
      return await this.#client.evalsha(name, keys, args)
    } catch (error) {
      if (!(error instanceof Error) || !error.message.includes('NOSCRIPT')) throw error
      await this.#client.scriptLoad(SCRIPT)
      return await this.#client.evalsha(name, keys, args)
    }
  }
}
