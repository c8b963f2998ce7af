import { randomBytes } from 'node:crypto'
import { StoreFault } from 'sluice/internal/engine/store-fault'
import type { MemoryStore } from 'sluice/internal/stores/memory/memory-store'
import { MessageReader, MessageWriter } from './binary.ts'
import { dumpPartition, loadPartition, newPartition, type PartitionOptions } from './partition-dump.ts'
import { ownersOf, PEER_PARTITIONS } from './partitions.ts'
import { PEER_METHODS, PeerLink } from './peer-link.ts'

/** What a node says of itself, and what it is answered. */
export interface Hello {
  /** Where others reach it; undefined while it does not know. */
  readonly name: string | undefined
  /** Differs from start to start. */
  readonly incarnation: string
  /** A digit for each partition: 1 where it has the counters. */
  readonly held: string
  readonly isLeaving: boolean
  /** Nodes that have handed over what they had and are gone: one that starts later has not heard it of them. */
  readonly gone: readonly string[]
}

export interface PeerClusterOptions {
  readonly token: string
  readonly partitions: PartitionOptions
  /** Lists the addresses of all nodes. Keeps the last list when it rejects. */
  readonly discover: () => Promise<readonly string[]>
  /** Where others reach this node. Default: the one in the list that answers as this node. */
  readonly address?: string | undefined
  readonly log?: PeerLog
  /** How long others may take. */
  readonly timeoutsMs?: PeerTimeouts
}

/** How long another node may take to answer a hello and to take a part of a partition, and how long leaving takes. */
export interface PeerTimeouts {
  /** Default: 1,000. */
  readonly hello: number
  /** Default: 5,000. */
  readonly give: number
  /** Default: 10,000. */
  readonly leave: number
}

/** Receives what operators want to know. */
export interface PeerLog {
  joined(name: string): void
  left(name: string, isPlanned: boolean): void
  lost(partitions: number, name: string): void
}

/** Counts what happened to partitions since the start. */
export interface PeerStats {
  readonly peers: number
  readonly peersReachable: number
  readonly partitionsHeld: number
  readonly partitionsGiven: number
  readonly partitionsReceived: number
  /** Partitions whose node ended without handing them over, as far as this node saw. */
  readonly partitionsLost: number
}

interface Member {
  readonly name: string
  readonly link: PeerLink
  isListed: boolean
  isReachable: boolean
  /** It was asked since the members changed last. */
  isAsked: boolean
  incarnation: string | undefined
  held: string
  /** How many hellos in a row it did not answer. */
  misses: number
  /** It has handed over what it had, and ends. */
  isLeaving: boolean
  heardAtMs: number
}

const GOSSIP_MS = 1_000
const TIMEOUTS_MS: PeerTimeouts = { hello: 1_000, give: 5_000, leave: 10_000 }
/** A node that does not answer so many hellos in a row is not there. */
const MOST_MISSES = 3
/** A node that is not in the list, and that nothing was heard of for this long, is forgotten. */
const FORGET_MS = 10_000
const GIVES_AT_ONCE = 8
/** Well below what a gRPC port takes as one message. */
const PART_BYTES = 32 * 1_024
/** What others may have handed over in part. */
const MOST_PARTIAL_BYTES = 64 * 1_048_576
const NONE = '0'.repeat(PEER_PARTITIONS)

/**
 * Knows which node has which partition. The owner follows from the names of all members; the one that has the counters
 * may be another for a moment, until it has handed them over. A partition is decided only where its counters are: a
 * member that has none makes new ones only when no reachable member has them.
 */
export class PeerCluster {
  readonly incarnation = randomBytes(8).toString('hex')
  readonly #options: PeerClusterOptions
  readonly #timeoutsMs: PeerTimeouts
  readonly #members = new Map<string, Member>()
  readonly #stores: (MemoryStore | undefined)[] = new Array(PEER_PARTITIONS).fill(undefined)
  /** Partitions on their way to another node. */
  readonly #giving = new Map<number, Promise<void>>()
  /** What arrived of partitions so far, by sender and partition. */
  readonly #partial = new Map<string, Buffer[]>()
  #partialBytes = 0
  #owners: readonly (string | undefined)[] = ownersOf([])
  #self: string | undefined
  #isLeaving = false
  #isClosed = false
  #timer: NodeJS.Timeout | undefined
  #round: Promise<void> | undefined
  #given = 0
  #received = 0
  #lost = 0

  constructor(options: PeerClusterOptions) {
    this.#options = options
    this.#self = options.address
    this.#timeoutsMs = options.timeoutsMs ?? TIMEOUTS_MS
  }

  get stats(): PeerStats {
    const others = [...this.#members.values()]
    return {
      peers: others.length,
      peersReachable: others.filter(({ isReachable }) => isReachable).length,
      partitionsHeld: this.#stores.filter((store) => store !== undefined).length,
      partitionsGiven: this.#given,
      partitionsReceived: this.#received,
      partitionsLost: this.#lost,
    }
  }

  /** Where others reach this node, once that is known. */
  get self(): string | undefined {
    return this.#self
  }

  /** Finds the other nodes, and keeps doing so. Resolves when all of them were asked once. */
  async start(): Promise<void> {
    await this.meet()
    if (this.#isClosed) return
    this.#timer = setInterval(() => this.#meetQuietly(), GOSSIP_MS)
    this.#timer.unref()
  }

  /** Returns the counters of a partition, where this node has them and keeps them. */
  held(partition: number): MemoryStore | undefined {
    return this.#giving.has(partition) ? undefined : this.#stores[partition]
  }

  /** Returns what a decision has to wait for before it is known who decides; undefined where it is known. */
  pending(partition: number): Promise<void> | undefined {
    const giving = this.#giving.get(partition)
    if (giving !== undefined) return giving
    if (this.#stores[partition] !== undefined || this.#owners[partition] !== this.#self) return undefined
    return this.#holderOf(partition) === undefined ? this.meet() : undefined
  }

  /** Returns the node that decides about a partition: the one that has its counters, or its owner. */
  linkOf(partition: number): PeerLink | undefined {
    const holder = this.#holderOf(partition)
    if (holder !== undefined) return holder.link
    const owner = this.#owners[partition]
    return owner === undefined ? undefined : this.#members.get(owner)?.link
  }

  /** Returns every store that this node has. */
  stores(): readonly MemoryStore[] {
    return this.#stores.filter((store) => store !== undefined)
  }

  /** Asks all members, and puts into force what they say. Rounds never overlap. */
  meet(): Promise<void> {
    this.#round ??= this.#meet().finally(() => {
      this.#round = undefined
    })
    return this.#round
  }

  /** Hears what another node says of itself, and says the same of this one. */
  heard(hello: Hello): Hello {
    if (hello.incarnation === this.incarnation) this.#self ??= hello.name
    else if (hello.name !== undefined) this.#learn(this.#memberAt(hello.name), hello)
    if (hello.incarnation !== this.incarnation && hello.name !== undefined) this.#settle()
    return this.hello()
  }

  hello(): Hello {
    const held = this.#stores.map((store) => (store === undefined ? '0' : '1')).join('')
    const gone = [...this.#members.values()].filter((member) => member.isLeaving && !member.isReachable)
    const names = gone.map(({ name }) => name)
    return { name: this.#self, incarnation: this.incarnation, held, isLeaving: this.#isLeaving, gone: names }
  }

  /** Takes a part of a partition that another node hands over. Throws a RangeError at what is none. */
  take(bytes: Uint8Array): void {
    const from = new MessageReader(bytes)
    const sender = from.text()
    const partition = from.short()
    const isLast = from.byte() === 1
    const part = Buffer.from(from.raw(from.left))
    const name = `${sender} ${partition}`
    const parts = [...(this.#partial.get(name) ?? []), part]
    this.#partialBytes += part.length
    if (partition >= PEER_PARTITIONS || this.#partialBytes > MOST_PARTIAL_BYTES) {
      this.#drop(name, parts)
      throw new RangeError('too much is handed over')
    }
    if (!isLast) {
      this.#partial.set(name, parts)
      return
    }
    this.#drop(name, parts)
    // Counters that this node made meanwhile are the ones that decisions were made on.
    this.#stores[partition] ??= loadPartition(Buffer.concat(parts), this.#options.partitions)
    this.#received++
    const holder = this.#members.get(sender)
    if (holder !== undefined) holder.held = withDigit(holder.held, partition, '0')
  }

  /** Hands over everything, and says so to all. Bounded in time. */
  async leave(): Promise<void> {
    this.#isLeaving = true
    clearInterval(this.#timer)
    await this.#round
    // All have to know before the first partition arrives at another node, or that would hand it back.
    await this.#greetAll()
    this.#settle()
    const deadline = new Promise<void>((resolve) => setTimeout(resolve, this.#timeoutsMs.leave).unref())
    await Promise.race([this.#giveAll(), deadline])
    await this.#greetAll()
  }

  close(): void {
    this.#isClosed = true
    clearInterval(this.#timer)
    for (const { link } of this.#members.values()) link.close()
  }

  /** A round that fails is followed by the next. */
  #meetQuietly(): void {
    this.meet().catch(() => {})
  }

  async #meet(): Promise<void> {
    await this.#follow()
    await this.#greetAll()
    if (this.#isClosed) return
    this.#forgetSilent()
    this.#settle()
  }

  /** Puts the list of addresses into force. One that cannot be read, or is empty, leaves the last one in force. */
  async #follow(): Promise<void> {
    const listed = await this.#options.discover().catch(() => [])
    if (listed.length === 0 || this.#isClosed) return
    for (const name of listed) if (name !== this.#self) this.#memberAt(name).isListed = true
    const known = new Set(listed)
    for (const member of this.#members.values()) if (!known.has(member.name)) member.isListed = false
  }

  #memberAt(name: string): Member {
    const known = this.#members.get(name)
    if (known !== undefined) return known
    const member: Member = {
      name,
      link: new PeerLink(name, this.#options.token),
      isListed: false,
      isReachable: false,
      isAsked: false,
      incarnation: undefined,
      held: NONE,
      misses: 0,
      isLeaving: false,
      heardAtMs: performance.now(),
    }
    this.#members.set(name, member)
    for (const other of this.#members.values()) other.isAsked = false
    return member
  }

  async #greetAll(): Promise<void> {
    await Promise.all([...this.#members.values()].map((member) => this.#greet(member)))
  }

  async #greet(member: Member): Promise<void> {
    try {
      const bytes = await member.link.call(PEER_METHODS.hello, encodeHello(this.hello()), this.#timeoutsMs.hello)
      const hello = decodeHello(bytes)
      if (hello.incarnation === this.incarnation) {
        this.#self ??= member.name
        this.#remove(member)
      } else this.#learn(member, hello)
      member.misses = 0
    } catch (error) {
      // One that is busy is not gone: others would make its counters again.
      const isGone = error instanceof StoreFault && error.reason === 'offline'
      if (!isGone && ++member.misses < MOST_MISSES) return
      if (member.isReachable) this.#options.log?.left(member.name, member.isLeaving)
      member.isReachable = false
    }
    member.isAsked = true
  }

  #learn(member: Member, hello: Hello): void {
    const isOther = member.incarnation !== undefined && member.incarnation !== hello.incarnation
    if (isOther && !member.isLeaving) this.#lose(member)
    if (!member.isReachable && !hello.isLeaving) this.#options.log?.joined(member.name)
    member.incarnation = hello.incarnation
    member.held = hello.held.length === PEER_PARTITIONS ? hello.held : NONE
    member.isLeaving = hello.isLeaving
    member.isReachable = true
    member.heardAtMs = performance.now()
    for (const name of hello.gone) {
      const other = this.#members.get(name)
      if (other !== undefined && !other.isReachable && other.incarnation === undefined) other.isLeaving = true
    }
  }

  /** Counts what a node took along. */
  #lose(member: Member): void {
    const partitions = member.held.split('1').length - 1
    member.held = NONE
    if (partitions === 0) return
    this.#lost += partitions
    this.#options.log?.lost(partitions, member.name)
  }

  #forgetSilent(): void {
    const nowMs = performance.now()
    for (const member of this.#members.values()) {
      const isGone = member.isLeaving ? !member.isReachable : nowMs - member.heardAtMs > FORGET_MS
      if (member.isListed || member.isReachable || !isGone) continue
      if (!member.isLeaving) this.#lose(member)
      this.#remove(member)
    }
  }

  #remove(member: Member): void {
    member.link.close()
    this.#members.delete(member.name)
  }

  /** Returns the reachable member that has the counters of a partition. */
  #holderOf(partition: number): Member | undefined {
    for (const member of this.#members.values()) if (member.isReachable && member.held[partition] === '1') return member
    return undefined
  }

  /** Computes owners, makes counters that no one has, drops those that their owner has, and hands others over. */
  #settle(): void {
    const names = [...this.#members.values()].filter(({ isLeaving }) => !isLeaving).map(({ name }) => name)
    if (this.#self !== undefined && !this.#isLeaving) names.push(this.#self)
    this.#owners = ownersOf(names)
    const isSure = [...this.#members.values()].every(({ isAsked }) => isAsked)
    for (let partition = 0; partition < PEER_PARTITIONS; partition++) {
      const owner = this.#owners[partition]
      const isOurs = owner === this.#self && owner !== undefined
      if (isOurs && isSure && this.#stores[partition] === undefined) this.#adopt(partition)
      else if (!isOurs && this.#stores[partition] !== undefined) this.#part(partition, owner)
    }
  }

  #adopt(partition: number): void {
    if (this.#holderOf(partition) !== undefined) return
    for (const member of this.#members.values()) {
      if (member.held[partition] !== '1') continue
      member.held = withDigit(member.held, partition, '0')
      this.#lost++
      this.#options.log?.lost(1, member.name)
    }
    this.#stores[partition] = newPartition(this.#options.partitions)
  }

  /** Hands a partition to its owner, as soon as there is room; drops one that its owner has. */
  #part(partition: number, owner: string | undefined): void {
    const member = owner === undefined ? undefined : this.#members.get(owner)
    if (member === undefined || !member.isReachable || this.#giving.has(partition)) return
    if (member.held[partition] === '1') this.#stores[partition] = undefined
    else if (this.#giving.size < GIVES_AT_ONCE) this.#give(partition, member)
  }

  #give(partition: number, member: Member): void {
    const store = this.#stores[partition]
    if (store === undefined) return
    const done = this.#send(partition, dumpPartition(store, Date.now()), member)
      .then(() => {
        this.#stores[partition] = undefined
        member.held = withDigit(member.held, partition, '1')
        this.#given++
      })
      // It stays here, and is tried again with the next round.
      .catch(() => {})
      .finally(() => {
        this.#giving.delete(partition)
        if (!this.#isClosed && this.#giving.size === 0) this.#settle()
      })
    this.#giving.set(partition, done)
  }

  async #send(partition: number, dump: Buffer, { link }: Member): Promise<void> {
    for (let at = 0; at < dump.length; at += PART_BYTES) {
      const out = new MessageWriter()
      out.text(this.#self ?? this.incarnation)
      out.short(partition)
      out.byte(at + PART_BYTES >= dump.length ? 1 : 0)
      out.raw(dump.subarray(at, at + PART_BYTES))
      await link.call(PEER_METHODS.give, out.bytes, this.#timeoutsMs.give)
    }
  }

  async #giveAll(): Promise<void> {
    while (this.#giving.size > 0) {
      await Promise.all(this.#giving.values())
      this.#settle()
    }
  }

  #drop(name: string, parts: readonly Buffer[]): void {
    this.#partial.delete(name)
    for (const { length } of parts) this.#partialBytes -= length
  }
}

function withDigit(digits: string, at: number, digit: string): string {
  return digits.slice(0, at) + digit + digits.slice(at + 1)
}

/** Formats what a node says of itself. It is said once a second. */
export function encodeHello({ name, incarnation, held, isLeaving, gone }: Hello): Buffer {
  const out = new MessageWriter()
  out.text(name ?? '')
  out.text(incarnation)
  out.text(held)
  out.byte(isLeaving ? 1 : 0)
  out.short(gone.length)
  for (const each of gone) out.text(each)
  return out.bytes
}

/** Undoes encodeHello. Throws a RangeError at anything else. */
export function decodeHello(bytes: Uint8Array): Hello {
  const from = new MessageReader(bytes)
  const [name, incarnation, held] = [from.text(), from.text(), from.text()]
  const isLeaving = from.byte() === 1
  const gone = Array.from({ length: from.short() }, () => from.text())
  from.end()
  if (!/^[01]*$/.test(held) || held.length !== PEER_PARTITIONS) throw new RangeError('a malformed hello')
  return { name: name === '' ? undefined : name, incarnation, held, isLeaving, gone }
}
