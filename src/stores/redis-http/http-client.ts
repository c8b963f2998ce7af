import { createHash } from 'node:crypto'
import { withoutCredentials } from '../../core/errors.ts'
import { StoreFault } from '../../engine/store-fault.ts'
import type { NodeRedisClient } from '../redis/connection/client-connection.ts'
import type { Args } from '../redis/connection/connection.ts'
import { scriptOf } from '../redis/scripts/scripts.ts'

/** Where a Redis answers over HTTP, in the protocol of Upstash. */
export interface HttpRedisOptions {
  /** Its address, such as `https://eu1-example.upstash.io`. */
  readonly url: string
  readonly token: string
  /** Default: the fetch of the runtime. */
  readonly fetch?: typeof globalThis.fetch
}

/** What Redis itself answered, which means that it was asked. Its text begins with a code. */
class RedisReplyError extends Error {}

/** A call that takes as long as that is given up. Decisions have had their answers long before. */
const GIVEN_UP_MS = 10_000
/** What stands before an argument that is sent as hexadecimal digits, because JSON has no bytes. */
const HEX = '^'

/** Comes before each script: turns such arguments into bytes again. */
const READ_HEX = `for i = 1, #ARGV do
  if ARGV[i]:byte(1) == 94 then
    ARGV[i] = ARGV[i]:sub(2):gsub('%x%x', function(digits) return string.char(tonumber(digits, 16)) end)
  end
end
`

/**
 * Sends commands to a Redis over HTTP, one request each, and looks like a client of `redis` to the store. Scripts go by
 * their hashes, and replies come back as bytes. Nothing is sent twice: what was not answered may have been done.
 */
export class HttpRedisClient implements NodeRedisClient {
  readonly isReady = true
  readonly isOpen = true
  readonly #options: HttpRedisOptions
  readonly #hashes = new Map<string, string>()
  /** With it, a replica that answers has seen what this client has written. */
  #syncToken = ''

  constructor(options: HttpRedisOptions) {
    this.#options = options
  }

  async sendCommand(args: Args): Promise<unknown> {
    // Over HTTP there are scripts only.
    if (args[0] === 'FCALL') throw new RedisReplyError("ERR unknown command 'FCALL'")
    const command = this.#commandOf(args)
    const { status, body } = await this.#post(JSON.stringify(command))
    const { result, error } = readBody(body)
    if (typeof error === 'string') throw new RedisReplyError(error)
    if (status !== 200) throw new StoreFault('unavailable', SHARD, `HTTP ${status}`)
    if (result === undefined) throw new StoreFault('broken', SHARD, 'the answer is not one of Redis')
    return bytesOf(result)
  }

  /** Returns a command as JSON can have it. Scripts are others: with what reads the arguments. */
  #commandOf([command, script, ...rest]: Args): readonly string[] {
    const name = String(command)
    const isScript = name === 'EVALSHA' || name === 'EVAL'
    if (!isScript) return [name, ...[script, ...rest].filter((each) => each !== undefined).map(String)]
    const [keys, ...others] = rest
    const args = others.map((arg, i) => (i < Number(keys) ? String(arg) : argumentOf(arg)))
    return [name, name === 'EVAL' ? READ_HEX + String(script) : this.#hashOf(String(script)), String(keys), ...args]
  }

  #hashOf(sha: string): string {
    const known = this.#hashes.get(sha)
    if (known !== undefined) return known
    const hash = createHash('sha1')
      .update(READ_HEX + scriptOf(sha).source)
      .digest('hex')
    this.#hashes.set(sha, hash)
    return hash
  }

  async #post(body: string): Promise<{ readonly status: number; readonly body: string }> {
    const { url, token, fetch = globalThis.fetch } = this.#options
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'upstash-encoding': 'base64',
          ...(this.#syncToken !== '' && { 'upstash-sync-token': this.#syncToken }),
        },
        body,
        redirect: 'error',
        signal: AbortSignal.timeout(GIVEN_UP_MS),
      })
      this.#syncToken = response.headers.get('upstash-sync-token') ?? this.#syncToken
      return { status: response.status, body: await response.text() }
    } catch (error) {
      throw faultOf(error)
    }
  }
}

const SHARD = 'redis over HTTP'

function argumentOf(arg: string | Buffer): string {
  if (typeof arg !== 'string') return HEX + arg.toString('hex')
  return arg.startsWith(HEX) ? HEX + Buffer.from(arg).toString('hex') : arg
}

function readBody(body: string): { readonly result?: unknown; readonly error?: unknown } {
  try {
    const read: unknown = JSON.parse(body)
    return typeof read === 'object' && read !== null ? read : {}
  } catch {
    return {}
  }
}

/** Texts come as base64, except for OK. */
function bytesOf(result: unknown): unknown {
  if (typeof result === 'string') return Buffer.from(result, result === 'OK' ? 'utf8' : 'base64')
  return Array.isArray(result) ? result.map(bytesOf) : result
}

/** A connection that was refused has asked nothing; of any other no one knows. */
function faultOf(error: unknown): StoreFault {
  const cause = (error as { cause?: { code?: unknown } }).cause
  const code = String(cause?.code)
  const isOffline = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/.test(code)
  const detail = withoutCredentials(`${(error as Error).message}${cause?.code === undefined ? '' : ` (${code})`}`)
  return new StoreFault(isOffline ? 'offline' : 'broken', SHARD, detail)
}
