import { withoutCredentials } from 'sluice/internal/core/errors'
import type { MaybePromise } from 'sluice/internal/engine/ports'
import type { HotKeysScope, ScopedReport } from '../../admin/hot-keys/hot-keys-route.ts'
import {
  type HotKey,
  HotKeyAlarm,
  type HotKeyFigures,
  type HotKeyLimits,
} from '../../observe/hot-keys/hot-key-alarm.ts'
import { type HotKeysReport, mergingReports, NO_HOT_KEYS } from '../../observe/hot-keys/hot-keys-report.ts'
import { inTurns } from '../../observe/hot-keys/steps.ts'
import type { Log } from '../log/log.ts'
import type { Config } from '../settings/config.ts'
import { type FleetNotes, openFleetNotes } from './fleet-notes.ts'

/** How often a node looks at its keys, and publishes them to other nodes. */
const LOOK_MS = 10_000
/** The longest list that can be asked for. */
const MAX_LENGTH = 200

/** What NodeHotKeys are made of. */
export interface NodeHotKeysParts {
  /** Returns a report of each process that answers requests. */
  readonly collect: () => MaybePromise<readonly HotKeysReport[]>
  /** Undefined: there are no other nodes. */
  readonly fleet: FleetNotes | undefined
  readonly limits: HotKeyLimits
  readonly log: Log
}

/** The busiest keys of a node: of all its processes together, and of other nodes. */
export class NodeHotKeys {
  readonly #parts: NodeHotKeysParts
  readonly #alarm: HotKeyAlarm
  #last: HotKeysReport = NO_HOT_KEYS
  #timer: NodeJS.Timeout | undefined
  #isLogged = false

  constructor(parts: NodeHotKeysParts) {
    this.#parts = parts
    this.#alarm = new HotKeyAlarm(parts.limits, (hot) => logHotKey(parts.log, hot))
  }

  start(): void {
    this.#timer = setInterval(() => void this.look(), LOOK_MS).unref()
  }

  /** Looks for hot keys, and publishes them to other nodes. Never rejects. */
  async look(): Promise<void> {
    const report = await this.#collect()
    this.#alarm.look(report)
    if (report.rules.length === 0) return
    try {
      await this.#parts.fleet?.put(report)
      this.#isLogged = false
    } catch (error) {
      // That Redis is unavailable is logged elsewhere. A missing permission shows only here.
      const reason = messageOf(error)
      if (!this.#isLogged && /NOPERM/.test(reason)) {
        this.#parts.log.warn('hot_key.unshared', `busy keys are not published to other nodes: ${reason}`)
      }
      this.#isLogged ||= /NOPERM/.test(reason)
    }
  }

  /** Returns the keys of this node, or of all of them. */
  async ask(scope: HotKeysScope): Promise<ScopedReport> {
    const own = await this.#collect()
    const alone = { report: own, scope: 'node', nodes: 1, nodesLeftOut: 0 } as const
    if (scope === 'node') return alone
    const { fleet } = this.#parts
    if (fleet === undefined) return { ...alone, reason: 'no Redis is shared with other nodes' }
    try {
      const { reports, leftOut } = await fleet.others()
      const report = await inTurns(mergingReports([own, ...reports], MAX_LENGTH))
      return { report, scope, nodes: 1 + reports.length, nodesLeftOut: leftOut }
    } catch (error) {
      return { ...alone, reason: `other nodes are not known: ${messageOf(error)}` }
    }
  }

  /** The figures that metrics show, by domain and rule, as of the last look. */
  figures(): readonly HotKeyFigures[] {
    return this.#alarm.figures(this.#last)
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#parts.fleet?.close()
  }

  async #collect(): Promise<HotKeysReport> {
    this.#last = await inTurns(mergingReports(await this.#parts.collect(), MAX_LENGTH))
    return this.#last
  }
}

/** Starts looking at the keys of a node. */
export function openHotKeys(config: Config, log: Log, collect: NodeHotKeysParts['collect']): NodeHotKeys {
  const { redisUrl, hotKeys, hotKeyLimits: limits } = config
  const fleet = redisUrl === undefined || !hotKeys ? undefined : openFleetNotes(redisUrl, config)
  const node = new NodeHotKeys({ collect, fleet, limits, log })
  if (hotKeys) node.start()
  return node
}

function logHotKey(log: Log, { domain, rule, key, requests, share }: HotKey): void {
  const percent = Math.round(share * 100)
  const message = `one key takes ${percent} % of the requests to ${domain}/${rule}: ${key}, ${requests} in a minute`
  log.warn('hot_key.detected', message, { domain, rule, key, requests, percent })
}

function messageOf(error: unknown): string {
  return withoutCredentials(error instanceof Error ? error.message : String(error))
}
