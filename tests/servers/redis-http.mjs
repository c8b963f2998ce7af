// @ts-check
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createClient } from '@redis/client'

/** Replies as bytes: RESP_TYPES.BLOB_STRING and SIMPLE_STRING. */
const asBytes = { typeMapping: { 36: Buffer, 43: String } }

/**
 * A real Redis over HTTP, in the protocol of Upstash: one command for a request, as a JSON list; `{"result"}`, or
 * `{"error"}` with the status 400; base64 where it is asked for.
 */
export class RedisHttp {
  #client
  #server
  #token
  /** The names of the commands that arrived. */
  commands = /** @type {string[]} */ ([])
  /** @type {((command: string[]) => 'cut' | undefined) | undefined} what happens after a command was carried out */
  fault

  /**
   * @param {{ sendCommand(args: string[], options?: object): Promise<unknown>, close(): Promise<unknown> }} client
   * @param {string} token
   */
  constructor(client, token) {
    this.#client = client
    this.#token = token
    this.#server = createServer((request, response) => void this.#answer(request, response))
  }

  async listen() {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  get url() {
    const address = /** @type {import('node:net').AddressInfo} */ (this.#server.address())
    return `http://127.0.0.1:${address.port}`
  }

  /**
   * @param {import('node:http').IncomingMessage} request
   * @param {import('node:http').ServerResponse} response
   */
  async #answer(request, response) {
    const end = (/** @type {number} */ status, /** @type {object} */ body) => {
      response.writeHead(status, { 'content-type': 'application/json', 'upstash-sync-token': 'token' })
      response.end(JSON.stringify(body))
    }
    if (request.headers.authorization !== `Bearer ${this.#token}`) return end(401, { error: 'WRONGPASS invalid token' })
    const chunks = []
    for await (const chunk of request) chunks.push(chunk)
    const command = JSON.parse(String(Buffer.concat(chunks)))
    this.commands.push(command[0])
    try {
      const result = await this.#client.sendCommand(command, asBytes)
      if (this.fault?.(command) === 'cut') return void request.socket.destroy()
      const isEncoded = request.headers['upstash-encoding'] === 'base64'
      end(200, { result: encoded(result, isEncoded) })
    } catch (error) {
      end(400, { error: /** @type {Error} */ (error).message })
    }
  }

  async stop() {
    this.#server.close()
    this.#server.closeAllConnections()
    await this.#client.close()
  }
}

/**
 * @param {unknown} result
 * @param {boolean} isEncoded
 * @returns {unknown}
 */
function encoded(result, isEncoded) {
  if (Array.isArray(result)) return result.map((each) => encoded(each, isEncoded))
  if (Buffer.isBuffer(result)) return result.toString(isEncoded ? 'base64' : 'utf8')
  if (typeof result === 'string' && result !== 'OK' && isEncoded) return Buffer.from(result).toString('base64')
  return result
}

/**
 * Puts HTTP before a Redis.
 * @param {string} redisUrl
 * @param {string} token
 */
export async function startRedisHttp(redisUrl, token) {
  const client = createClient({ url: redisUrl })
  client.on('error', () => {})
  await client.connect()
  const front = new RedisHttp(client, token)
  await front.listen()
  return front
}
