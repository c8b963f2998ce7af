import { randomBytes } from 'node:crypto'
import type { Verdict } from '../../core/decision.ts'
import type { KeyedHash } from '../../core/hash.ts'
import { storedKey } from '../../core/keys.ts'
import { holdsPermits, type Limit } from '../../core/limit.ts'
import {
  type Acquired,
  type Charge,
  type HeldPermits,
  isRefused,
  type LendingStore,
  type Notice,
  type NoticeListener,
  type RateReply,
  type RateReport,
  type Renewal,
  type Sampler,
  type SliceReply,
  type SliceRequest,
} from '../../engine/ports.ts'
import type { StoreFault } from '../../engine/store-fault.ts'
import { inOrder, positionsBy, refundsOf, unbound, uncharged } from '../group-parts.ts'
import { NoticeBoard } from '../lending/notice-board.ts'
import { type CounterRenewals, RenewalResults, renewalsByCounter } from '../renewing/counter-renewals.ts'
import { AdaptiveDeadlines, DEADLINE_RANGE } from './batch/adaptive-deadline.ts'
import { Batcher, type BatcherEvents, type BatcherOptions } from './batch/batcher.ts'
import { ClusterConnection } from './cluster/cluster-connection.ts'
import { type Certificates, type Credentials, parseRedisUrl, type RedisAddress } from './connection/address.ts'
import { ClientConnection, type RedisClient } from './connection/client-connection.ts'
import { type ConnectionEvents, call, type RedisConnection } from './connection/connection.ts'
import { encodeNotice, NoticeChannel, noticeChannel } from './connection/notice-channel.ts'
import { sentinelLocate } from './connection/sentinel.ts'
import { type Locate, SingleConnection } from './connection/single-connection.ts'
import { within } from './connection/within.ts'
import { exchangeFormat } from './formats/exchange-format.ts'
import { LimitTexts } from './formats/limit-texts.ts'
import { encodeRenewals, type RenewedCounter, readRenewals, renewalCalls } from './formats/renew-format.ts'
import { sampleFormat } from './formats/sample-format.ts'
import { CompactKeys, readableKeys, type StoredKeys } from './formats/stored-keys.ts'
import { decideFormat, type Group } from './formats/wire-format.ts'
import { laneOf } from './lane.ts'
import { RedisAnswers } from './redis-answers.ts'
import { RedisCounters } from './redis-counters.ts'
import { RedisNotes } from './redis-notes.ts'
import { RedisText } from './redis-text.ts'
import { FunctionUse } from './scripts/function-use.ts'
import { loadScript } from './scripts/scripts.ts'
import { sendScript } from './scripts/send-script.ts'

export interface RedisStoreOptions extends Omit<BatcherOptions, 'keys'> {
  /** Where Redis is, see parseRedisUrl; or a client that is connected already, to a single server. */
  readonly url: string | RedisClient
  /** What all keys begin with, and the channel of notices with them. Default: nothing. */
  readonly keyPrefix?: string
  /** Names counters by this hash of their keys, which is the same on every node. Default: by their keys. */
  readonly compactKeys?: KeyedHash | undefined
  /** How long a decision may take where its rule does not say. Default: learned, see AdaptiveDeadline. */
  readonly timeoutMs?: number
  /** The longest that is learned. Default: 100. */
  readonly mostTimeoutMs?: number
  /** For rediss://: a custom authority, and a client certificate for a server that requires one. */
  readonly tls?: Certificates
  /** For redis+sentinel://, where the sentinels ask for a password. */
  readonly sentinelCredentials?: Credentials | undefined
  /** Connections keep the process alive. Default: true. */
  readonly keepAlive?: boolean
  readonly events?: Partial<ConnectionEvents & BatcherEvents>
}

/** Giving back what another part refused, and forgetting a counter, may take longer than deciding: no request waits. */
const BACKGROUND_TIMEOUT_MS = 1_000

/**
 * Keeps counters in Redis: a single server, one found by Sentinels, or a Cluster. A group of charges is one atomic
 * script where its keys live together: always on a single server, and on a cluster when they belong to one caller.
 * Across partitions each part is atomic, and what was charged is given back when another part refuses.
 */
export class RedisStore implements LendingStore, Sampler {
  readonly #connection: RedisConnection
  readonly #batcher: Batcher<Group, readonly Verdict[]>
  readonly #lending: Batcher<SliceRequest, SliceReply>
  readonly #sampling: Batcher<RateReport, RateReply>
  readonly #notices: NoticeSource
  readonly #release = loadScript('release')
  readonly #timeoutMs: number | undefined
  readonly #learners: AdaptiveDeadlines
  readonly #now: () => number
  readonly #channel: string
  readonly #keys: StoredKeys
  readonly #texts: LimitTexts
  readonly #functions: FunctionUse
  readonly #scriptNowMs: (() => number) | undefined
  /** Resets notify all nodes in the same step. */
  readonly notifiesResets = true
  /** What operators do with counters. */
  readonly counters: RedisCounters
  /** Notes of the nodes about their busiest keys. */
  readonly hotKeyNotes: RedisNotes
  /** Notes of the nodes about themselves. */
  readonly nodeNotes: RedisNotes
  /** The end of the audit log. */
  readonly auditHead: RedisText
  /** What nodes answer to a notice that asks. */
  readonly answers: RedisAnswers

  constructor(options: RedisStoreOptions) {
    const given = { ...NO_EVENTS, ...options.events }
    const functions = new FunctionUse()
    const events = {
      ...given,
      connected: (shard: string) => {
        functions.connected(shard)
        if (options.timeoutMs === undefined) this.#learners.of(shard)
        else given.deadlineChanged?.(shard, options.timeoutMs)
        given.connected(shard)
      },
    }
    this.#timeoutMs = options.timeoutMs
    this.#now = options.now ?? (() => performance.now())
    const { mostTimeoutMs: mostMs = DEADLINE_RANGE.mostMs } = options
    this.#learners = new AdaptiveDeadlines({ ...DEADLINE_RANGE, mostMs }, (shard, timeoutMs) =>
      given.deadlineChanged?.(shard, timeoutMs),
    )
    const { connection, notices } = connect(options, events)
    const { keyPrefix = '' } = options
    this.#channel = noticeChannel(keyPrefix)
    const keys = storedKeys(options.compactKeys, keyPrefix, connection)
    this.#keys = keys
    this.#texts = new LimitTexts(options.scriptNowMs, keys)
    this.#functions = functions
    this.#scriptNowMs = options.scriptNowMs
    this.counters = new RedisCounters(connection, keyPrefix, keys)
    this.hotKeyNotes = new RedisNotes(connection, keyPrefix, 'hot-keys')
    this.nodeNotes = new RedisNotes(connection, keyPrefix, 'nodes')
    this.answers = new RedisAnswers(connection, keyPrefix)
    this.auditHead = new RedisText(connection, keyPrefix, 'audit-head')
    const breakers = new Map()
    this.#connection = connection
    this.#notices = notices
    const learners = options.timeoutMs === undefined ? this.#learners : undefined
    const shared = { ...options, keys, breakers, functions, learners }
    this.#batcher = new Batcher(this.#connection, decideFormat, events, shared)
    this.#lending = new Batcher(this.#connection, exchangeFormat, events, shared)
    // Their answers come when no one waits for them: nothing is learned from how long they take.
    this.#sampling = new Batcher(this.#connection, sampleFormat, events, { ...shared, learners: undefined })
  }

  /** How long what may ask any server waits for it, where no rule says it. */
  get timeoutMs(): number {
    return this.#timeoutMs ?? this.#learners.longestMs(this.#now())
  }

  decide(charges: readonly Charge[]): Promise<readonly Verdict[]> {
    if (charges.length === 0) return Promise.resolve([])
    const parts = this.#partsOf(charges)
    if (parts.length === 1) return this.#submit({ charges, permits: undefined })
    return this.#decideParts(charges, parts, undefined)
  }

  async acquire(charges: readonly Charge[]): Promise<Acquired> {
    if (charges.length === 0) return { verdicts: [], permits: undefined }
    const id = randomBytes(8)
    const parts = this.#partsOf(charges)
    const verdicts = await (parts.length === 1
      ? this.#submit({ charges, permits: id })
      : this.#decideParts(charges, parts, id))
    if (isRefused(charges, verdicts)) return { verdicts, permits: undefined }
    const held = charges.filter(({ limit, cost }, i) => holdsPermits(limit) && cost > 0 && verdicts[i].allowed)
    return {
      verdicts,
      permits: {
        id: id.toString('hex'),
        held: held.map(({ key, limit, cost }) => ({ key, limit, places: cost })),
        keptAt: -1,
      },
    }
  }

  async release(permits: HeldPermits): Promise<void> {
    const id = Buffer.from(String(permits.id), 'hex')
    const byLane = new Map<string, string[]>()
    for (const { key, limit } of permits.held) {
      const lane = this.#laneOf(key)
      byLane.set(lane, [...(byLane.get(lane) ?? []), this.#keys.of(storedKey(key, limit))])
    }
    await Promise.all([...byLane.values()].map((keys) => this.#releaseKeys(keys, id, this.timeoutMs)))
  }

  /** Sends all calls together, so that a later release is done after them. Fails as a whole (`missed`). */
  async renew(permits: readonly HeldPermits[]): Promise<readonly Renewal[]> {
    const results = new RenewalResults(permits.length)
    const byLane = new Map<string, CounterRenewals[]>()
    for (const counter of renewalsByCounter(permits).values()) {
      const lane = this.#laneOf(counter.key)
      const others = byLane.get(lane)
      if (others === undefined) byLane.set(lane, [counter])
      else others.push(counter)
    }
    const calls = [...byLane.values()].flatMap((counters) => renewalCalls(counters, MAX_RENEWED))
    const done = calls.map(async (call) => readRenewals(await this.#renewIn(call), call, results))
    const fault = (await Promise.allSettled(done)).find((each) => each.status === 'rejected')
    if (fault !== undefined) throw fault.reason
    return results.list
  }

  async reset(key: string, limit: Limit): Promise<void> {
    await this.counters.reset([storedKey(key, limit)])
  }

  exchange(request: SliceRequest): Promise<SliceReply> {
    return this.#lending.submit(this.#laneOf(request.key), request, request.timeoutMs)
  }

  report(report: RateReport): Promise<RateReply> {
    return this.#sampling.submit(this.#laneOf(report.key), report, report.timeoutMs)
  }

  /** Notifies every node that listens, including this one. A lost notice costs at most a second. */
  notify(notice: Notice): void {
    call(this.#connection, notice.key, ['PUBLISH', this.#channel, encodeNotice(notice)]).catch(() => {})
  }

  /** How many notices made no sense. */
  get noticesIgnored(): number {
    return this.#notices.ignored
  }

  listen(listener: NoticeListener): () => void {
    return this.#notices.listen(listener)
  }

  /**
   * Runs one of the scripts that count like other libraries, for users who migrate from them: one key, and numbers as
   * the answer. Not batched.
   */
  async run(
    name: keyof typeof COUNTING,
    key: string,
    args: readonly (string | number)[],
    timeoutMs: number,
  ): Promise<readonly number[]> {
    const shard = this.#connection.shardOf(key)
    const script = COUNTING[name]
    const run = { connection: this.#connection, shard, script, keys: [this.#keys.of(key)], args: args.map(String) }
    const reply = await within(
      timeoutMs,
      sendScript(run, () => false),
      shard,
    )
    return (reply as readonly unknown[]).map(Number)
  }

  async close(): Promise<void> {
    await Promise.all([this.#connection.close(), this.#notices.close()])
  }

  async #releaseKeys(keys: readonly string[], id: Buffer, timeoutMs = BACKGROUND_TIMEOUT_MS): Promise<void> {
    const shard = this.#connection.shardOf(keys[0])
    const run = { connection: this.#connection, shard, script: this.#release, keys, args: [id] }
    await within(
      timeoutMs,
      sendScript(run, () => false),
      shard,
    )
  }

  #renewIn(counters: readonly RenewedCounter[]): Promise<unknown> {
    const { keys, args } = encodeRenewals(counters, this.#texts, this.#scriptNowMs?.())
    const shard = this.#connection.shardOf(keys[0])
    const functions = this.#functions
    const run = { connection: this.#connection, shard, script: RENEW, functions, keys, args }
    return within(
      BACKGROUND_TIMEOUT_MS,
      sendScript(run, () => false),
      shard,
    )
  }

  #submit(group: Group, timeoutMs = this.#timeoutOf(group)): Promise<readonly Verdict[]> {
    return this.#batcher.submit(this.#laneOf(group.charges[0].key), group, timeoutMs)
  }

  /** Returns the shortest of what the charges' rules allow. */
  #timeoutOf({ charges }: Group): number {
    let isSaid = true
    let timeoutMs = Number.POSITIVE_INFINITY
    for (const { policy } of charges) {
      if (policy?.timeoutMs === undefined) isSaid = false
      else timeoutMs = Math.min(timeoutMs, policy.timeoutMs)
    }
    if (isSaid) return timeoutMs
    return Math.min(timeoutMs, this.#timeoutMs ?? this.#learnedMs(charges[0].key))
  }

  #learnedMs(key: string): number {
    return this.#learners.of(this.#connection.shardOf(key)).timeoutMs(this.#now())
  }

  #laneOf(key: string): string {
    return laneOf(this.#connection, key)
  }

  /** Divides a group into what one script call can decide: positions of charges. */
  #partsOf(charges: readonly Charge[]): readonly (readonly number[])[] {
    if (this.#connection.spansPartitions || charges.length === 1) return ONE_PART
    return positionsBy(charges, ({ key }) => this.#laneOf(key))
  }

  /**
   * Decides a group that spans several partitions, each part separately, and gives back what was charged when the whole
   * is refused. Rules in quota mode decide only together, so they bind no part.
   */
  async #decideParts(
    charges: readonly Charge[],
    parts: readonly (readonly number[])[],
    permits: Buffer | undefined,
  ): Promise<readonly Verdict[]> {
    const groups = unbound(charges, parts)
    const answers = await Promise.allSettled(groups.map((group) => this.#submit({ charges: group, permits })))
    const fault = answers.find((answer) => answer.status === 'rejected')?.reason as StoreFault | undefined
    if (fault === undefined) {
      const verdicts = inOrder(parts, answers.map(verdictsOf))
      if (!isRefused(charges, verdicts)) return verdicts
    }
    groups.forEach((group, p) => {
      this.#giveBack(group, answers[p], permits)
    })
    if (fault !== undefined) throw fault
    return inOrder(
      parts,
      answers.map((answer, p) => uncharged(groups[p], verdictsOf(answer))),
    )
  }

  /** Refunds, in the background, a part that was charged although the whole is refused. */
  #giveBack(
    group: readonly Charge[],
    answer: PromiseSettledResult<readonly Verdict[]>,
    permits: Buffer | undefined,
  ): void {
    // A part that did not answer may have taken permits: to release what was not taken does no harm. It may have been
    // charged as well, but to refund what was not charged would.
    const isKnown = answer.status === 'fulfilled'
    if (isKnown && isRefused(group, answer.value)) return
    const refunds = isKnown ? refundsOf(group, answer.value) : []
    const held = group.filter(
      ({ limit, cost }, i) => holdsPermits(limit) && cost > 0 && (!isKnown || answer.value[i].allowed),
    )
    // A refund that does not arrive leaves the caller with less, for a window at most. There is nothing to do about it.
    if (refunds.length > 0) this.#refund(refunds).catch(() => {})
    if (permits === undefined || held.length === 0) return
    const keys = held.map(({ key, limit }) => this.#keys.of(storedKey(key, limit)))
    this.#releaseKeys(keys, permits, BACKGROUND_TIMEOUT_MS).catch(() => {})
  }

  /** Gives back, and notifies nodes that may have refused because of it and remember that. */
  async #refund(refunds: readonly Charge[]): Promise<void> {
    await this.#submit({ charges: refunds, permits: undefined }, BACKGROUND_TIMEOUT_MS)
    for (const { key } of refunds) this.notify({ kind: 'clear', key })
  }
}

/** Separate scripts, by name: lua/NAME.lua documents their arguments and reply. */
const COUNTING = { count: loadScript('count'), throttle: loadScript('throttle') }

const RENEW = loadScript('renew')
/**
 * Permits that one call renews. In as many counters that takes Redis about 1 ms of its processor; in one with 10,000
 * permits, 2 ms.
 */
const MAX_RENEWED = 128

const ONE_PART: readonly (readonly number[])[] = [[]]

const NO_EVENTS: ConnectionEvents & BatcherEvents = {
  connected() {},
  disconnected() {},
  warned() {},
  breakerChanged() {},
  callEnded() {},
}

/** Where notices are heard. */
type NoticeSource = Pick<NoticeChannel, 'listen' | 'close' | 'ignored'>

/** Opens what the options name. A client that the app shares is not used to listen: subscribing would take it over. */
function connect(
  { url, keyPrefix = '', tls: certificates, sentinelCredentials, keepAlive = true }: RedisStoreOptions,
  events: ConnectionEvents,
): { connection: RedisConnection; notices: NoticeSource } {
  if (typeof url !== 'string') {
    const board = new NoticeBoard(false)
    const notices = { listen: (listener: NoticeListener) => board.listen(listener), close: async () => {}, ignored: 0 }
    return { connection: new ClientConnection(url), notices }
  }
  const address = { ...parseRedisUrl(url), certificates, sentinelCredentials, keepAlive }
  const locate = locateIn(address)
  const notices = new NoticeChannel({ ...address, database: 0 }, locate, noticeChannel(keyPrefix), events.warned)
  const isCluster = address.kind === 'cluster'
  const connection = isCluster ? new ClusterConnection(address, events) : new SingleConnection(address, locate, events)
  return { connection, notices }
}

/**
 * Returns where to listen for notices, and where a single server is. In a cluster any node will do: another each time.
 */
function locateIn(address: RedisAddress): Locate {
  if (address.kind === 'sentinel') return sentinelLocate(address)
  let next = 0
  return async () => address.nodes[next++ % address.nodes.length]
}

function storedKeys(hash: KeyedHash | undefined, keyPrefix: string, connection: RedisConnection): StoredKeys {
  return hash === undefined ? readableKeys(keyPrefix) : new CompactKeys(hash, keyPrefix, !connection.spansPartitions)
}

function verdictsOf(answer: PromiseSettledResult<readonly Verdict[]>): readonly Verdict[] {
  return answer.status === 'fulfilled' ? answer.value : []
}
