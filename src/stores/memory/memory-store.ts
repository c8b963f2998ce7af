import { NEVER, Outcome } from '../../core/algorithms/outcome.ts'
import type { Clock } from '../../core/clock.ts'
import { debitedOf, unchargedOf, type Verdict, verdictOf } from '../../core/decision.ts'
import { got, SluiceError } from '../../core/errors.ts'
import { KeyedHash } from '../../core/hash.ts'
import { debitLimit, holdsPermits, type Limit } from '../../core/limit.ts'
import {
  type Acquired,
  type Charge,
  type HeldPermits,
  isRefused,
  type Renewal,
  type SyncStore,
} from '../../engine/ports.ts'
import {
  type CounterRenewals,
  RenewalResults,
  renewalsByCounter,
  type WantedRenewal,
} from '../renewing/counter-renewals.ts'
import { systemClock } from '../system-clock.ts'
import {
  CHUNK_BITS,
  CHUNK_MASK,
  Entries,
  FREED,
  isLogEntry,
  NONE,
  openStanding,
  Standing,
  standingOf,
} from './entries.ts'
import { evaluateEntry, writeEntry } from './entry-state.ts'
import { Hand, LOOKED_AT, MAX_LOOKED_AT } from './hand.ts'
import { HitPages } from './hit-pages.ts'
import { KeyIndex } from './key-index.ts'

export interface MemoryStoreOptions {
  /** The maximum number of counters to keep; about 41 bytes each. Default: 1,000,000. */
  readonly maxKeys?: number
  /** Default: the system's clock, made steady. */
  readonly clock?: Clock
  /** Finds the places of counters. Default: with a random key, so that no caller can aim at the place of another. */
  readonly hash?: KeyedHash
  /** What permits are numbered from, so that those of several stores differ. Default: 0. */
  readonly firstPermit?: number
}

/** Says what a memory store holds and what it had to do to stay within its bounds. */
export interface MemoryStats {
  readonly keys: number
  readonly bytes: number
  /** Counters forgotten before their time, because maxKeys was reached. */
  readonly evicted: number
  /** Decisions on shared counters, because every counter looked at was being refused. */
  readonly shared: number
}

const MAX_KEYS = 2 ** 26
/**
 * When every counter is being refused, new keys share counters: an eighth of maxKeys, rounded down to a power of two,
 * as long as no more than that are in use for all limits; then this many for each limit.
 */
const SHARED_COUNTERS = 64
const MAX_SHARED = SHARED_COUNTERS * 1024
const MAX_KEYS_TO_WIDE = 8

/**
 * Keeps counters in flat typed arrays behind a keyed hash: no object, timer or promise per key. Never holds more than
 * maxKeys counters. Each new key looks at a few entries and takes the place of one that has expired; at maxKeys, of the
 * one that has used the least. A key that is being refused is never forgotten: while all are, new keys share counters,
 * which are kept in addition to maxKeys (an eighth of it, then 64 for each limit, at most 65,536).
 */
export class MemoryStore implements SyncStore {
  readonly #clock: Clock
  readonly #maxKeys: number
  readonly #maxEntries: number
  /**
   * How many counters new keys share while there is room for that many; 0 where that is no more than SHARED_COUNTERS.
   */
  readonly #wide: number
  readonly #hash: KeyedHash
  readonly #entries = new Entries()
  readonly #index: KeyIndex
  readonly #pages: HitPages
  readonly #out = new Outcome()
  readonly #hand = new Hand(this.#entries)
  /** The hashes of a group's keys, two words each: they are needed twice. */
  #hashes = new Int32Array(32)
  #permits: number
  #evicted = 0
  #shared = 0

  constructor(options: MemoryStoreOptions = {}) {
    const { maxKeys = 1_000_000, clock = systemClock(), hash = KeyedHash.random(), firstPermit = 0 } = options
    if (!Number.isInteger(maxKeys) || maxKeys < 1 || maxKeys > MAX_KEYS) {
      throw new SluiceError('MAX_KEYS_INVALID', 'maxKeys', got(maxKeys))
    }
    this.#clock = clock
    this.#hash = hash
    this.#permits = firstPermit
    this.#maxKeys = maxKeys
    const wide = 2 ** Math.floor(Math.log2(maxKeys / MAX_KEYS_TO_WIDE))
    this.#wide = wide > SHARED_COUNTERS ? wide : 0
    this.#maxEntries = maxKeys + this.#wide + MAX_SHARED
    this.#index = new KeyIndex(this.#entries, this.#maxEntries)
    this.#pages = new HitPages(this.#entries, 2 * maxKeys)
  }

  get stats(): MemoryStats {
    const bytes = this.#entries.bytes + this.#index.bytes + this.#pages.bytes
    return { keys: this.#entries.live, bytes, evicted: this.#evicted, shared: this.#shared }
  }

  /** What its counters are kept in, for those that copy them to another process. */
  get parts(): { readonly entries: Entries; readonly index: KeyIndex; readonly pages: HitPages } {
    return { entries: this.#entries, index: this.#index, pages: this.#pages }
  }

  decideOne(key: string, limit: Limit, cost: number): Verdict {
    const nowMs = this.#clock.nowMs()
    this.#hash.of(key, limit.space)
    const id = cost === 0 || limit.isLog ? NONE : this.#find()
    if (id !== NONE) this.#chargeNumbers(id, limit, nowMs, cost)
    else this.#chargeHashed(limit, nowMs, cost, modeOf(limit, cost, LOOK))
    return verdictOf(this.#out, limit)
  }

  decide(charges: readonly Charge[]): readonly Verdict[] {
    return this.#decideGroup(charges, LOOK)
  }

  acquire(charges: readonly Charge[]): Acquired {
    const id = ++this.#permits
    const verdicts = this.#decideGroup(charges, id)
    if (isRefused(charges, verdicts)) return { verdicts, permits: undefined }
    const held = charges.filter(({ limit, cost }, i) => holdsPermits(limit) && cost > 0 && verdicts[i].allowed)
    return {
      verdicts,
      permits: { id, held: held.map(({ key, limit, cost }) => ({ key, limit, places: cost })), keptAt: -1 },
    }
  }

  release(permits: HeldPermits): void {
    for (const { key, limit } of permits.held) {
      this.#hash.of(key, limit.space)
      const own = this.#hash.low
      if (this.#releaseIn(this.#find(), permits)) continue
      if (this.#wide > 0 && this.#releaseIn(this.#findAmong(this.#wide, own, limit), permits)) continue
      this.#releaseIn(this.#findAmong(SHARED_COUNTERS, own, limit), permits)
    }
  }

  renew(permits: readonly HeldPermits[]): readonly Renewal[] {
    const nowMs = this.#clock.nowMs()
    const results = new RenewalResults(permits.length)
    for (const counter of renewalsByCounter(permits).values()) this.#renewIn(counter, nowMs, results)
    return results.list
  }

  reset(key: string, limit: Pick<Limit, 'shape' | 'space'>): void {
    this.#hash.of(key, limit.space)
    const id = this.#find()
    if (id !== NONE) this.#forget(id)
  }

  close(): void {}

  /** Looks at every charge first, and makes the charges that fit only if the group is not refused. */
  #decideGroup(charges: readonly Charge[], permit: number): Verdict[] {
    const nowMs = this.#clock.nowMs()
    const verdicts = new Array<Verdict>(charges.length)
    if (this.#hashes.length < 2 * charges.length) this.#hashes = new Int32Array(4 * charges.length)
    for (let i = 0; i < charges.length; i++) {
      const { key, limit, debit } = charges[i]
      const lent = this.lentOf(charges[i], nowMs)
      this.#hash.of(key, limit.space)
      this.#hashes[2 * i] = this.#hash.low
      this.#hashes[2 * i + 1] = this.#hash.high
      this.#chargeHashed(limit, nowMs, costUpTo(charges, verdicts, i), LOOK)
      verdicts[i] = debit === true ? debitedOf(this.#out, limit) : verdictOf(this.#out, limit)
      if (lent > 0) {
        verdicts[i] = this.withLent(charges[i], lent, nowMs, costUpTo(charges, verdicts, i), verdicts[i])
      }
    }
    const refused = isRefused(charges, verdicts)
    for (let i = 0; i < charges.length; i++) {
      const { limit, cost, debit } = charges[i]
      this.#hash.low = this.#hashes[2 * i]
      this.#hash.high = this.#hashes[2 * i + 1]
      if (verdicts[i].lent) continue
      if (refused && verdicts[i].allowed) {
        const lent = this.lentOf(charges[i], nowMs)
        if (lent > 0) this.#hash.of(charges[i].key, limit.space)
        this.#chargeHashed(limit, nowMs, lent, LOOK)
        verdicts[i] = unchargedOf(this.#out, limit)
        continue
      }
      // A refusal is settled too: the algorithm may charge it (countDenied), and the key is marked as refused.
      const mode = modeOf(limit, cost, permit)
      if (mode === LOOK) continue
      if (debit === true) {
        this.#chargeHashed(debitLimit(limit), nowMs, cost, mode)
        verdicts[i] = debitedOf(this.#out, limit)
        continue
      }
      this.#chargeHashed(limit, nowMs, refused ? costUpTo(charges, verdicts, i) : cost, mode)
    }
    return verdicts
  }

  /** Returns what is lent of a charge's counter: it counts as spent. It may move the hash. Nothing is lent here. */
  protected lentOf(_charge: Charge, _nowMs: number): number {
    return 0
  }

  /** Returns the verdict on a cost as if what is lent were spent; `alone` is that without it. It may move the hash. */
  protected withLent(_charge: Charge, _lent: number, _nowMs: number, _cost: number, alone: Verdict): Verdict {
    return alone
  }

  /**
   * Evaluates one charge, and returns the Outcome that the next call reuses. With LOOK nothing is kept; otherwise the
   * next state is, and `mode` is the id of the permits that it takes.
   */
  protected charge(key: string, limit: Limit, nowMs: number, cost: number, mode: number): Readonly<Outcome> {
    this.#hash.of(key, limit.space)
    this.#chargeHashed(limit, nowMs, cost, mode)
    return this.#out
  }

  protected nowMs(): number {
    return this.#clock.nowMs()
  }

  /** Like charge for the key that was hashed last. */
  #chargeHashed(limit: Limit, nowMs: number, cost: number, mode: number): void {
    const id = this.#find()
    if (id !== NONE && !limit.isLog && mode !== LOOK) this.#chargeNumbers(id, limit, nowMs, cost)
    else this.#chargeAny(id, limit, nowMs, cost, mode)
  }

  /** Like #chargeAny for the common case, a counter of numbers that exists: 8 ns of 150 less. */
  #chargeNumbers(id: number, limit: Limit, nowMs: number, cost: number): void {
    const out = this.#out
    const chunk = this.#entries.chunks[id >>> CHUNK_BITS]
    const base = (id & CHUNK_MASK) << 2
    evaluateEntry(chunk, base, limit, nowMs, cost, out)
    if (out.expiresAtMs > nowMs) {
      writeEntry(chunk, base, limit, out)
      this.#entries.setExpiry(id, out.expiresAtMs, this.#standingNow(id, limit), false)
    } else this.#forget(id)
  }

  /** Charges the counter found, or a new one, or, when there is no room for that, one that is shared. */
  #chargeAny(found: number, limit: Limit, nowMs: number, cost: number, mode: number): void {
    let id = found
    let place = NONE
    let isShared = false
    if (id === NONE && this.#isFull) {
      place = this.#hand.placeToVacate(nowMs)
      if (place === NONE) {
        isShared = true
        id = this.#findShared(limit)
        if (mode !== LOOK) this.#passBy()
      }
    }
    this.#evaluate(id, limit, nowMs, cost)
    if (isShared && id === NONE && cost > 0 && this.#entries.live >= this.#maxEntries) this.#turnAway(limit, nowMs)
    if (mode === LOOK) return
    if (this.#out.expiresAtMs > nowMs) {
      if (id === NONE) id = this.#add(place, limit, nowMs)
      this.#write(id, limit, mode, isShared ? Standing.Refused : this.#standingNow(id, limit))
    } else if (id !== NONE) this.#forget(id)
  }

  /** Moves the hand past a run of refused keys, so that the next new key looks elsewhere. */
  #passBy(): void {
    this.#shared++
    this.#hand.turn(MAX_LOOKED_AT)
  }

  /** #turnAway refuses, for a window, a new key for which not even a shared counter is left. Nothing is kept of it. */
  #turnAway(limit: Limit, nowMs: number): void {
    const out = this.#out
    if (!out.allowed) return
    out.allowed = false
    out.remaining = 0
    out.resetAfterMs = limit.windowMs
    out.retryAfterMs = limit.windowMs
    out.expiresAtMs = nowMs
  }

  #find(): number {
    return this.#index.find(this.#hash.low, this.#hash.high)
  }

  #evaluate(id: number, limit: Limit, nowMs: number, cost: number): void {
    const out = this.#out
    if (limit.isLog) {
      this.#pages.open(id, holdsPermits(limit))
      limit.algorithmRecord.evaluateLog(this.#pages, limit, nowMs, cost, out)
    } else if (id === NONE) {
      limit.algorithmRecord.evaluateNumbers(NEVER, 0, 0, limit, nowMs, cost, out)
    } else {
      evaluateEntry(this.#entries.chunks[id >>> CHUNK_BITS], (id & CHUNK_MASK) << 2, limit, nowMs, cost, out)
    }
  }

  /** Returns the standing of the entry after #out. An impossible cost that is not charged does not change it. */
  #standingNow(id: number, limit: Limit): Standing {
    const out = this.#out
    if (out.impossible && !limit.countDenied) return standingOf(this.#entries.expiry(id))
    if (!out.allowed) return Standing.Refused
    return out.remaining > 0 ? openStanding(out.remaining, limit.capacity) : Standing.Spent
  }

  /** Keeps the next state of #out, and the entry's standing. */
  #write(id: number, limit: Limit, permit: number, standing: Standing): void {
    const out = this.#out
    if (limit.isLog) {
      this.#pages.apply(out, permit)
    } else {
      writeEntry(this.#entries.chunks[id >>> CHUNK_BITS], (id & CHUNK_MASK) << 2, limit, out)
    }
    this.#entries.setExpiry(id, out.expiresAtMs, standing, limit.isLog)
  }

  /** Makes an entry for the hashed key, in the place given, or in any that is free. */
  #add(place: number, limit: Limit, nowMs: number): number {
    if (place !== NONE) this.#vacate(place, nowMs)
    const id = this.#freePlace(nowMs)
    this.#entries.setKey(id, this.#hash.low, this.#hash.high)
    this.#index.add(id)
    if (limit.isLog) {
      this.#pages.open(id, holdsPermits(limit))
      this.#pages.clear()
    }
    return id
  }

  /**
   * Gives permits back, and says whether they were held here. The entry keeps its standing: a caller that was refused
   * may still be, if the limit was lowered.
   */
  #releaseIn(id: number, permits: HeldPermits): boolean {
    if (id === NONE) return false
    this.#pages.open(id, true)
    if (!this.#pages.release(permits.id as number)) return false
    if (this.#pages.isEmpty) this.#forget(id)
    return true
  }

  /** Renews permits of one counter. What is held counts before what is taken again. */
  #renewIn({ key, limit, wanted }: CounterRenewals, nowMs: number, results: RenewalResults): void {
    const missing = new Map(wanted)
    this.#hash.of(key, limit.space)
    const own = this.#hash.low
    this.#renewAt(this.#find(), limit, nowMs, missing)
    if (missing.size > 0 && this.#wide > 0)
      this.#renewAt(this.#findAmong(this.#wide, own, limit), limit, nowMs, missing)
    if (missing.size > 0) this.#renewAt(this.#findAmong(SHARED_COUNTERS, own, limit), limit, nowMs, missing)
    for (const each of missing.values()) {
      if (each.places === 0) results.set(each, 'lost')
      else results.set(each, this.#takeAgain(key, limit, nowMs, each) ? 'retaken' : 'overrun')
    }
  }

  /** Renews what an entry has of some permits, and takes them off the list. */
  #renewAt(id: number, limit: Limit, nowMs: number, missing: Map<number | string, WantedRenewal>): void {
    if (id === NONE) return
    this.#pages.open(id, true)
    const found = this.#pages.renew((permit) => missing.has(permit), nowMs, limit.windowMs)
    if (found.size === 0) return
    for (const permit of found.keys()) missing.delete(permit)
    this.#entries.setExpiry(id, nowMs + limit.windowMs, standingOf(this.#entries.expiry(id)), true)
  }

  /** Takes expired permits again, and returns whether there was room. They are taken in any case. */
  #takeAgain(key: string, limit: Limit, nowMs: number, { id: permit, places }: WantedRenewal): boolean {
    if (this.charge(key, limit, nowMs, places, permit as number).allowed) return true
    // The counter that refused, which may be a shared one. There is none where not even that had room.
    const id = this.#find()
    if (id === NONE) return false
    this.#pages.open(id, true)
    this.#pages.take(permit as number, places, nowMs)
    this.#entries.setExpiry(id, nowMs + limit.windowMs, Standing.Refused, true)
    return false
  }

  #forget(id: number): void {
    if (isLogEntry(this.#entries.expiry(id))) {
      this.#pages.open(id, false)
      this.#pages.freeAll()
    }
    this.#index.remove(id)
    this.#entries.free(id)
  }

  get #isFull(): boolean {
    return this.#entries.live >= this.#maxKeys
  }

  #freePlace(nowMs: number): number {
    this.#sweep(nowMs)
    return this.#entries.isPacked ? this.#entries.append() : this.#entries.takeFreed()
  }

  /**
   * Frees the next two entries under the hand if they have expired. Two for each new entry, so the store holds about
   * twice the live keys, no matter how many come and go.
   */
  #sweep(nowMs: number): void {
    for (let i = 0; i < 2 && i < this.#entries.size; i++) {
      const id = this.#hand.under(i)
      const expiry = this.#entries.expiry(id)
      if (expiry <= nowMs && expiry !== FREED) this.#forget(id)
    }
    this.#hand.turn(2)
  }

  #vacate(id: number, nowMs: number): void {
    if (this.#entries.expiry(id) > nowMs) this.#evicted++
    this.#hand.turn(LOOKED_AT)
    this.#forget(id)
  }

  /**
   * Points the hash at the counter that new keys share while every counter looked at is being refused. The counters of
   * one limit may take many, as long as the rest have enough: the more there are, the fewer keys share one. A key may
   * be refused because of another; the alternative, deciding without remembering, would give a caller that fills the
   * store with refused keys an unlimited budget on the next one. Therefore shared counters are not forgotten either.
   */
  #findShared(limit: Limit): number {
    const own = this.#hash.low
    if (this.#wide > 0) {
      const id = this.#findAmong(this.#wide, own, limit)
      if (id !== NONE || this.#entries.live < this.#maxKeys + this.#wide) return id
    }
    return this.#findAmong(SHARED_COUNTERS, own, limit)
  }

  /** Points the hash at one of a limit's shared counters, chosen by the hash of a key. */
  #findAmong(counters: number, hash: number, limit: Limit): number {
    this.#hash.of(`${hash & (counters - 1)} ${limit.max} ${counters}`, limit.space, SHARED)
    return this.#find()
  }
}

/**
 * Adds up what the group asks of charge i's counter: a counter named twice is charged twice. Earlier charges that do
 * not fit take nothing, and do not count.
 */
function costUpTo(charges: readonly Charge[], verdicts: readonly Verdict[], i: number): number {
  const { key, limit } = charges[i]
  let cost = charges[i].cost
  for (let j = 0; j < i; j++) {
    const before = charges[j]
    if (before.key !== key || before.limit.space !== limit.space || before.debit === true) continue
    if (verdicts[j].allowed) cost += before.cost
  }
  return cost
}

/** Modes of charge: look only; charge; anything above is the id of the permits that are taken. */
export const LOOK = -1
export const CHARGE = 0

/** Returns what a charge does: a cost of 0 looks, and only an acquire takes permits. */
function modeOf(limit: Limit, cost: number, permit: number): number {
  if (holdsPermits(limit)) return cost > 0 ? permit : LOOK
  return cost === 0 ? LOOK : CHARGE
}

/** The domain of the hash that names shared counters: no caller's key can be one. */
const SHARED = 2
