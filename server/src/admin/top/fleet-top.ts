import type { KeyEncoder } from 'sluice/internal/core/key-encoder'
import { TwoGenerations } from 'sluice/internal/core/two-generations'
import { BLOCKED } from 'sluice/internal/engine/quotas'
import type { RuleReport } from '../../observe/hot-keys/hot-keys-report.ts'
import type { WindowMinutes } from '../../observe/hot-keys/key-windows.ts'
import type { AskProcesses } from '../../observe/reports/reports.ts'
import type { CallerEntries } from '../../quotas/book/caller-entries.ts'
import type { QuotaBook } from '../../quotas/book/quota-book.ts'
import { KeyRecord } from '../../quotas/book/records.ts'
import { partKey } from '../api/parts.ts'
import { customerOf } from '../callers/callers.ts'
import { shownSecret } from '../callers/key-owners.ts'
import { FleetQuery } from '../fleet/fleet-query.ts'
import type { FleetQuestions } from '../fleet/fleet-questions.ts'
import { isText } from '../fleet/read-values.ts'
import type { ScopedReport } from '../hot-keys/hot-keys-route.ts'

export type TopRanking = 'refused' | 'used'

export type TopPeriod = '5m' | '1h' | '24h'

/** A TopKey is a caller that a rule refused, or was asked about, most. */
export interface TopKey {
  readonly domain: string
  readonly rule: string
  /** Whom it is about, as it may be shown. */
  readonly key: string
  readonly customerId: string | undefined
  readonly keyId: string | undefined
  /** At least; up to `missed` more. */
  readonly count: number
  readonly missed: number
  /** Of all that the rule refused, or was asked about. */
  readonly share: number
  readonly isShadow: boolean
}

export interface FleetTopParts {
  /** The busiest keys of the fleet, or of this node where the fleet cannot be asked. */
  readonly hotKeys: () => Promise<ScopedReport>
  /** How many other nodes are known, and how many of them are away. */
  readonly others: () => { readonly ids: readonly string[]; readonly away: number }
  readonly ask: AskProcesses
  readonly questions: FleetQuestions
  readonly book: () => QuotaBook | undefined
  readonly keys: KeyEncoder
  readonly entries: CallerEntries
  readonly nowMs?: () => number
}

const MINUTES: Readonly<Record<TopPeriod, WindowMinutes>> = { '5m': 5, '1h': 60, '24h': 1_440 }
const MINUTE_MS = 60_000
/** Lists of other nodes are megabytes: a caller that asks again within this time gets the same. */
const KEPT_MS = 1_000
/** How long an unknown owner of a key is not asked for again. */
const UNKNOWN_MS = 30_000
const REMEMBERED_KEYS = 4_096

/** Ranks the keys of all rules together, and says whose they are where that is known. */
export class FleetTop {
  readonly #parts: FleetTopParts
  readonly #nowMs: () => number
  readonly #ownersQuery: FleetQuery<KeyOwners>
  #last: { readonly atMs: number; readonly report: Promise<ScopedReport> } | undefined
  /** The ids of API keys' records by how the keys are shown, and until when that is believed. */
  readonly #owners = new TwoGenerations<string, { readonly keyId: string | undefined; readonly untilMs: number }>(
    REMEMBERED_KEYS,
  )

  constructor(parts: FleetTopParts) {
    this.#parts = parts
    this.#nowMs = parts.nowMs ?? Date.now
    this.#ownersQuery = new FleetQuery(parts.questions, {
      name: 'owners',
      own: (about) => this.#ownOwners(about),
      sent: (answer) => answer,
      read: readOwners,
    })
  }

  async top(by: TopRanking, period: TopPeriod, limit: number) {
    const minutes = MINUTES[period]
    const { report, scope, nodes, nodesLeftOut } = await this.report()
    const ranked = report.rules
      .flatMap((rule) => keysOf(rule, by, minutes))
      .sort((a, b) => b.count - a.count)
      .slice(0, limit)
    const { ids, away } = this.#parts.others()
    return {
      items: await this.#named(ranked),
      nodes,
      nodesLeftOut: nodesLeftOut + away + (scope === 'node' ? ids.length : 0),
      sinceMs: this.#nowMs() - minutes * MINUTE_MS,
    }
  }

  /** report is what the fleet knows of its keys, as of the last second. */
  report(): Promise<ScopedReport> {
    const nowMs = this.#nowMs()
    if (this.#last === undefined || Math.abs(nowMs - this.#last.atMs) >= KEPT_MS) {
      this.#last = { atMs: nowMs, report: this.#parts.hotKeys() }
    }
    return this.#last.report
  }

  async #named(ranked: readonly Unnamed[]): Promise<readonly TopKey[]> {
    const callers = ranked.map(({ rule, key }) => (rule === BLOCKED ? this.#blockedIn(key) : this.#callerIn(key)))
    await this.#learn(callers.flatMap((caller) => (caller?.kind === 'keys' ? [caller.value] : [])))
    return ranked.map((each, i) => {
      const caller = callers[i]
      return { ...each, key: caller?.key ?? each.key, ...this.#ownerOf(caller) }
    })
  }

  /** Finds the part of a key that identifies the caller. An API key that a rule does not hide is hidden here. */
  #callerIn(key: string): Caller | undefined {
    const { entries } = this.#parts
    const parts = key.split('|')
    for (const [i, part] of parts.entries()) {
      const at = part.indexOf('=')
      const [name, value] = [part.slice(0, at), part.slice(at + 1)]
      if (entries.keys.includes(name)) {
        const text = HASHED.test(value) ? value : this.#hidden(name, unescaped(value))
        return { kind: 'keys', value: text, key: parts.with(i, `${name}=${text}`).join('|') }
      }
      if (entries.customers.includes(name)) return { kind: 'customers', value: unescaped(value), key }
    }
    return undefined
  }

  /** #blockedIn reads whom a block is about. Of a key, people see the first characters. */
  #blockedIn(key: string): Caller | undefined {
    const at = key.indexOf('=')
    const [name, value] = [key.slice(0, at), key.slice(at + 1)]
    if (name === 'customer_id') return { kind: 'customers', value, key }
    if (name !== 'api_key_id') return undefined
    const prefix = this.#parts.book()?.key(value)?.prefix
    return { kind: 'ids', value, key: prefix === undefined ? key : `api_key=${prefix}…` }
  }

  /** Returns an API key that is in clear as it may be shown. The book knows its owner. */
  #hidden(name: string, apiKey: string): string {
    const shown = shownSecret(this.#parts.keys, apiKey)
    const account = this.#parts.book()?.accounts?.('', { key: name, value: apiKey })
    if (account instanceof KeyRecord) this.#owners.set(shown, { keyId: account.id, untilMs: Number.POSITIVE_INFINITY })
    return shown
  }

  #ownerOf(caller: Caller | undefined): Pick<TopKey, 'customerId' | 'keyId'> {
    const book = this.#parts.book()
    if (caller === undefined || book === undefined) return NO_OWNER
    if (caller.kind === 'customers') return { customerId: book.customer(caller.value)?.id, keyId: undefined }
    const keyId = caller.kind === 'ids' ? caller.value : this.#owners.get(caller.value)?.keyId
    const record = keyId === undefined ? undefined : book.key(keyId)
    return { customerId: customerOf(record)?.id, keyId: record?.id }
  }

  async #ownOwners(shown: readonly string[]): Promise<KeyOwners> {
    return Object.assign({}, ...(await this.#parts.ask('owners', shown)))
  }

  /** #learn asks the processes of this node, and then other nodes, whose keys those are that are not known yet. */
  async #learn(shown: readonly string[]): Promise<void> {
    if (this.#parts.book() === undefined) return
    const nowMs = this.#nowMs()
    const unknown = [...new Set(shown)].filter((text) => !((this.#owners.get(text)?.untilMs ?? 0) > nowMs))
    if (unknown.length === 0) return
    const found: Record<string, string> = { ...(await this.#ownOwners(unknown)) }
    const missing = unknown.filter((text) => found[text] === undefined)
    if (missing.length > 0) {
      const { answers } = await this.#ownersQuery.others(missing)
      for (const answer of answers.values()) for (const text of missing) found[text] ??= answer[text]
    }
    for (const text of unknown) {
      const keyId = found[text]
      this.#owners.set(text, { keyId, untilMs: keyId === undefined ? nowMs + UNKNOWN_MS : Number.POSITIVE_INFINITY })
    }
  }
}

/** The ids of API keys' records, by how the keys are shown. */
type KeyOwners = Readonly<Record<string, string>>

interface Caller {
  /** A key as it is shown, the id of a customer, or the id of a key's record. */
  readonly kind: 'keys' | 'customers' | 'ids'
  readonly value: string
  /** The whole key, as it may be shown. */
  readonly key: string
}

type Unnamed = Omit<TopKey, 'customerId' | 'keyId'>

const NO_OWNER = { customerId: undefined, keyId: undefined }
/** How a secret is shown. */
export const HASHED = /~[0-9a-f]{16}$/

function keysOf({ domain, rule, isShadow, windows }: RuleReport, by: TopRanking, minutes: WindowMinutes): Unnamed[] {
  const { total, missed, keys } = windows[minutes][by === 'used' ? 'active' : 'refused']
  return keys.map(([key, count]) => {
    const share = total === 0 ? 0 : Math.min(1, Math.round((count / total) * 1_000) / 1_000)
    return { domain, rule, key, count, missed, share, isShadow }
  })
}

/** Decodes a value from the form that it has in keys of counters. */
export function unescaped(value: string): string {
  return value.replace(/%([0-9a-f]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
}

/** Checks what another node answered. */
function readOwners(value: unknown): Readonly<Record<string, string>> | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const entries = Object.entries(value)
  return entries.length <= 64 && entries.every(([, id]) => isText(id)) ? Object.fromEntries(entries) : undefined
}

export const TOP = partKey<Pick<FleetTop, 'top'>>('top')
