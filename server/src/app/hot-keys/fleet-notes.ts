import { randomBytes } from 'node:crypto'
import type { RedisNotes } from 'sluice/internal/stores/redis/redis-notes'
import { type HotKeysReport, readReport, shorten } from '../../observe/hot-keys/hot-keys-report.ts'
import { certificatesOf } from '../doors/open-store.ts'
import type { Config } from '../settings/config.ts'
import { credentialsOf } from '../settings/redis-settings.ts'

/** How long other nodes believe a node's report: longer than three intervals between reports. */
const TTL_MS = 45_000
/** The most characters in a note. */
const MAX_WRITTEN = 262_144
const MAX_LENGTH = 50

/** The last reports of other nodes, and how many nodes were not asked. */
export interface OtherNodes {
  readonly reports: readonly HotKeysReport[]
  readonly leftOut: number
}

/** Publishes this node's keys to other nodes, and reads theirs. Both methods reject when Redis does not answer. */
export interface FleetNotes {
  put(report: HotKeysReport): Promise<void>
  others(): Promise<OtherNodes>
  close(): Promise<void>
}

interface Opened {
  readonly notes: RedisNotes
  close(): Promise<void>
}

type FleetConfig = Pick<Config, 'keyPrefix' | 'redisTls' | 'redisSentinelAuth'>

/**
 * Shares keys through Redis, on a separate connection that is made when it is first needed: lists are long, and
 * decisions do not wait behind them.
 */
export function openFleetNotes(redisUrl: string, config: FleetConfig): FleetNotes {
  const node = randomBytes(8).toString('hex')
  let opening: Promise<Opened> | undefined
  const opened = (): Promise<Opened> => {
    opening ??= open(redisUrl, config)
    return opening
  }
  return {
    put: async (report) => (await opened()).notes.put(node, noteOf(report), TTL_MS, Date.now()),
    others: async () => {
      const { notes, leftOut } = await (await opened()).notes.others(node)
      const reports = [...notes.values()].map(reportIn).filter((report) => report !== undefined)
      return { reports, leftOut }
    },
    close: async () => {
      const open = await opening?.catch(() => undefined)
      await open?.close()
    },
  }
}

async function open(url: string, { keyPrefix, redisTls, redisSentinelAuth }: FleetConfig): Promise<Opened> {
  const { RedisStore } = await import('sluice/internal/stores/redis/redis-store')
  let arrive = (): void => {}
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve
  })
  const store = new RedisStore({
    url,
    keepAlive: false,
    ...(keyPrefix !== undefined && { keyPrefix }),
    tls: certificatesOf(redisTls),
    sentinelCredentials: redisSentinelAuth === undefined ? undefined : credentialsOf(redisSentinelAuth),
    events: { connected: arrive, disconnected: arrive },
  })
  // The first attempt to connect succeeds or fails: only then is it known whether Redis is reachable.
  await arrived
  return { notes: store.hotKeyNotes, close: () => store.close() }
}

/** Encodes a report so that it fits. */
export function noteOf(report: HotKeysReport): string {
  for (let length = MAX_LENGTH; length >= 1; length = Math.floor(length / 2)) {
    const text = JSON.stringify(shorten(report, length))
    if (text.length <= MAX_WRITTEN) return text
  }
  return JSON.stringify({ rules: [], rulesLeftOut: report.rules.length })
}

function reportIn(text: string): HotKeysReport | undefined {
  try {
    return readReport(JSON.parse(text))
  } catch {
    return undefined
  }
}
