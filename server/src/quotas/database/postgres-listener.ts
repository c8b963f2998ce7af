import type { Client } from 'pg'
import { Backoff } from './backoff.ts'
import { Listeners, quotedChannel } from './listeners.ts'

const PING_EVERY_MS = 30_000
const PING_WITHIN_MS = 5000

/**
 * Receives NOTIFY on a separate connection. When that is lost it opens another, and lets all listeners know that they
 * may have missed something: notices sent in the meantime are lost.
 */
export class PostgresListener {
  readonly #makeClient: () => Client
  readonly #listeners = new Listeners()
  readonly #backoff = new Backoff(100, 10_000)
  #client: Client | undefined
  #isConnected = false
  #retry: NodeJS.Timeout | undefined
  #ping: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(makeClient: () => Client) {
    this.#makeClient = makeClient
  }

  listen(channel: string, heard: (payload: string) => void, missed: () => void): () => void {
    const sql = `LISTEN ${quotedChannel(channel)}`
    const listener = { heard, missed }
    this.#listeners.add(channel, listener)
    if (this.#isConnected) {
      const client = this.#client
      client?.query(sql).then(
        () => this.#listeners.missed(channel),
        () => this.#lose(client),
      )
    } else if (this.#client === undefined && this.#retry === undefined) this.#connect()
    return () => {
      this.#listeners.remove(channel, listener)
      if (this.#listeners.channels.length === 0) this.#rest()
    }
  }

  #connect(): void {
    this.#retry = undefined
    if (this.#isClosed || this.#listeners.channels.length === 0) return
    const client = this.#makeClient()
    this.#client = client
    // A connection that dies reports it up to three times.
    client.on('error', () => this.#lose(client))
    client.on('end', () => this.#lose(client))
    client.on('notification', ({ channel, payload }) => this.#listeners.heard(channel, payload ?? ''))
    this.#subscribe(client).catch(() => this.#lose(client))
  }

  async #subscribe(client: Client): Promise<void> {
    await client.connect()
    await client.query(this.#listeners.channels.map((channel) => `LISTEN ${quotedChannel(channel)}`).join(';'))
    if (this.#client !== client) return
    this.#isConnected = true
    this.#backoff.reset()
    this.#ping = setInterval(() => this.#look(client), PING_EVERY_MS).unref()
    this.#listeners.missed()
  }

  /** A connection that a firewall dropped reports nothing until it is used. */
  #look(client: Client): void {
    client
      .query({ text: 'SELECT 1', query_timeout: PING_WITHIN_MS } as { text: string })
      .catch(() => this.#lose(client))
  }

  #lose(client: Client | undefined): void {
    if (client === undefined || this.#client !== client) return
    this.#drop()
    if (this.#isClosed || this.#listeners.channels.length === 0) return
    this.#retry = setTimeout(() => this.#connect(), this.#backoff.nextMs()).unref()
  }

  #drop(): void {
    const client = this.#client
    this.#client = undefined
    this.#isConnected = false
    clearInterval(this.#ping)
    client?.end().catch(() => {})
  }

  #rest(): void {
    clearTimeout(this.#retry)
    this.#retry = undefined
    this.#drop()
  }

  close(): void {
    this.#isClosed = true
    this.#rest()
  }
}
