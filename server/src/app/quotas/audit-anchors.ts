import type { RedisStore } from 'sluice/internal/stores/redis/redis-store'
import type { RedisText } from 'sluice/internal/stores/redis/redis-text'
import type { Anchor, AnchoredHead } from '../../quotas/audit/anchor.ts'
import { headIn, headText, type SignedHead } from '../../quotas/audit/signed-head.ts'
import { CONNECT_MS, whileOffline } from '../counters/while-offline.ts'
import { certificatesOf } from '../doors/open-store.ts'
import type { Config } from '../settings/config.ts'
import { credentialsOf } from '../settings/redis-settings.ts'
import { entryIn } from '../usage/file-sink.ts'
import { lastLine } from '../usage/last-line.ts'

/** The settings of a node that name places for the end of the audit log, in addition to the data directory. */
export type AnchorConfig = Pick<Config, 'redisUrl' | 'keyPrefix' | 'redisTls' | 'redisSentinelAuth' | 'auditFile'>

/** A head has 150 characters. What is much longer is none. */
const MAX_CHARACTERS = 1_024

/** Returns the anchors that a node has: Redis, and its audit file. */
export function anchorsOf(config: AnchorConfig): readonly Anchor[] {
  const { redisUrl, auditFile } = config
  return [
    ...(redisUrl === undefined ? [] : [new RedisAnchor(config, redisUrl)]),
    ...(auditFile === undefined ? [] : [new AuditFileAnchor(auditFile.path)]),
  ]
}

/** A RedisAnchor is a text in Redis. It is connected to when it is first asked. */
class RedisAnchor implements Anchor {
  readonly kind = 'redis'
  readonly name = 'Redis'
  readonly #config: AnchorConfig
  readonly #url: string
  #store: Promise<RedisStore> | undefined
  #reason = 'it does not answer'
  /** A connection that was lost reconnects on its own, and is not waited for. */
  #wasConnected = false

  constructor(config: AnchorConfig, url: string) {
    this.#config = config
    this.#url = url
  }

  async read(): Promise<SignedHead | undefined> {
    const text = await this.#whenConnected((head) => head.read())
    return text === '' ? undefined : headIn(text.slice(0, MAX_CHARACTERS))
  }

  async replace(before: AnchoredHead | undefined, head: SignedHead): Promise<void> {
    const there = before === undefined ? '' : headText({ signature: '', ...before })
    await this.#whenConnected((text) => text.replace(there, headText(head)))
  }

  async close(): Promise<void> {
    await (await this.#store)?.close()
  }

  async #whenConnected<T>(act: (head: RedisText) => Promise<T>): Promise<T> {
    this.#store ??= this.#connect()
    const { auditHead } = await this.#store
    return whileOffline(
      () => act(auditHead),
      () => this.#reason,
      this.#wasConnected ? 0 : CONNECT_MS,
    )
  }

  async #connect(): Promise<RedisStore> {
    const { RedisStore } = await import('sluice/internal/stores/redis/redis-store')
    const { keyPrefix = '', redisTls, redisSentinelAuth } = this.#config
    return new RedisStore({
      url: this.#url,
      keyPrefix,
      tls: certificatesOf(redisTls),
      sentinelCredentials: redisSentinelAuth === undefined ? undefined : credentialsOf(redisSentinelAuth),
      events: {
        connected: () => {
          this.#wasConnected = true
        },
        disconnected: (_, reason) => {
          this.#reason = reason
        },
      },
    })
  }
}

/** An AuditFileAnchor reads the last entry that was written into the file of `--audit-file`. */
class AuditFileAnchor implements Anchor {
  readonly kind = 'audit-file'
  readonly name: string

  constructor(path: string) {
    this.name = path
  }

  async read(): Promise<AnchoredHead | undefined> {
    for (const path of [this.name, `${this.name}.1`]) {
      const line = await lastLine(path)
      if (line !== undefined && line.text !== '') return entryIn(line.text, path)
    }
    return undefined
  }
}
