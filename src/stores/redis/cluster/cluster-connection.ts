import { StoreFault } from '../../../engine/store-fault.ts'
import type { RedisAddress } from '../connection/address.ts'
import { askNode } from '../connection/ask-node.ts'
import { retryDelayMs } from '../connection/client-options.ts'
import { type Args, type Asker, type ConnectionEvents, call, type RedisConnection } from '../connection/connection.ts'
import { SingleConnection } from '../connection/single-connection.ts'
import { within } from '../connection/within.ts'
import { hashSlot } from './hash-slot.ts'
import { RedirectedAsker, type Router } from './redirected-asker.ts'
import { hostPortOf, slotMap } from './slot-map.ts'

const SLOTS = 16_384
/** More than there are. */
const MAX_PARTITIONS = 1_024
/** How long a node may take to send the map, and how long one that has left it may take to answer pending requests. */
const NODE_TIMEOUT_MS = 1_000
/** The map is not read more often than this, however many calls doubt it. */
const MIN_PAUSE_MS = 50
/** While a master is unavailable, the map is read at least every 400 ms. */
const LAST_ATTEMPT = 3

/**
 * Talks to a Redis Cluster: one connection to each master, and a map of the slots that they serve. Follows MOVED and
 * ASK, which mean that nothing was done, and repeats nothing else. The map is read at the start, when a node
 * contradicts it, and repeatedly while a master is unavailable: its replica will take over.
 */
export class ClusterConnection implements RedisConnection {
  readonly spansPartitions = false
  readonly #address: RedisAddress
  readonly #events: ConnectionEvents
  readonly #links = new Map<string, Link>()
  /** Links that have left the map, until what is in flight there is answered. */
  readonly #retired = new Set<Link>()
  /** The address of the master of each slot. */
  #owners: string[] = []
  /** The slots of partitions, which are asked for with every decision. */
  readonly #slots = new Map<string, number>()
  #isDoubted = false
  /** Nodes that say themselves that they do not know. */
  readonly #clueless = new Set<string>()
  #isClosed = false
  /** The last report about the cluster as a whole was that something is wrong with it. */
  #isTroubled = false
  #wake: () => void = () => {}
  readonly #running: Promise<void>
  readonly #router: Router = {
    doubt: (address) => this.#doubt(address),
    moved: (slot, address) => {
      this.#owners[slot] = address
      this.#doubt()
    },
    send: (address, args, asker, isAsk) => this.#send(address, args, asker, isAsk),
  }

  constructor(address: RedisAddress, events: ConnectionEvents) {
    this.#address = address
    this.#events = warnOnce(events)
    this.#running = this.#run()
  }

  shardOf(key: string): string {
    return this.#owners[hashSlot(key)] ?? CLUSTER
  }

  nodeOf(partition: string): string | undefined {
    let slot = this.#slots.get(partition)
    if (slot === undefined) {
      slot = hashSlot(partition)
      if (this.#slots.size < MAX_PARTITIONS) this.#slots.set(partition, slot)
    }
    return this.#owners[slot]
  }

  shards(): readonly string[] {
    return [...this.#links.keys()]
  }

  askShard(shard: string, args: Args, asker: Asker): void {
    this.#send(shard, args, asker)
  }

  ask(key: string, args: Args, asker: Asker): void {
    const slot = hashSlot(key)
    this.#askFor(slot, this.#owners[slot], args, asker)
  }

  #askFor(slot: number, address: string | undefined, args: Args, asker: Asker): void {
    if (address === undefined) {
      this.#doubt()
      asker.failed(new StoreFault('offline', CLUSTER, `no known server serves slot ${slot}`))
    } else this.#send(address, args, new RedirectedAsker(this.#router, slot, address, args, asker))
  }

  reset(shard: string): void {
    this.#links.get(shard)?.connection.reset()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#wake()
    await Promise.all([...this.#links.values(), ...this.#retired].map(({ connection }) => connection.close()))
    await this.#running
  }

  /** Sends a command to a node. ASKING applies only to the next command, so both are sent together. */
  #send(address: string, args: Args, asker: Asker, isAsk = false): void {
    const link = this.#linkTo(address)
    if (link === undefined) asker.failed(new StoreFault('offline', address, 'closed'))
    else {
      if (isAsk) link.connection.ask('', ASKING, IGNORED)
      link.connection.ask('', args, asker)
    }
  }

  #linkTo(address: string): Link | undefined {
    const known = this.#links.get(address)
    if (known !== undefined || this.#isClosed) return known
    const link: Link = {
      isUp: false,
      connection: new SingleConnection(
        { ...this.#address, database: 0 },
        async () => hostPortOf(address),
        {
          connected: () => {
            if (this.#retired.has(link)) return
            link.isUp = true
            this.#events.connected(address)
          },
          disconnected: (_, reason) => {
            if (this.#retired.has(link)) return
            link.isUp = false
            this.#events.disconnected(address, reason)
            this.#doubt()
          },
          warned: (warning) => this.#events.warned(warning),
        },
        { shard: address },
      ),
    }
    this.#links.set(address, link)
    this.#events.connecting?.(address)
    return link
  }

  /** Has the map read again soon. */
  #doubt(cluelessAddress?: string): void {
    if (cluelessAddress !== undefined) this.#clueless.add(cluelessAddress)
    this.#isDoubted = true
    this.#wake()
  }

  async #run(): Promise<void> {
    for (let attempt = 0; !this.#isClosed; attempt++) {
      this.#isDoubted = false
      const reason = await this.#readMap()
      if (this.#isClosed) return
      this.#reportHealth(reason ?? uncovered(this.#owners))
      await this.#pause(MIN_PAUSE_MS, () => this.#isClosed)
      if (this.#isWhole()) {
        attempt = 0
        await this.#pause(undefined, () => this.#isClosed || this.#isDoubted)
      } else await this.#pause(retryDelayMs(Math.min(attempt, LAST_ATTEMPT)), () => this.#isClosed)
    }
  }

  /** Reports what is wrong with the cluster as a whole, at every attempt, and once when it has recovered. */
  #reportHealth(reason: string | undefined): void {
    if (reason !== undefined) this.#events.disconnected(CLUSTER, reason)
    else if (this.#isTroubled) this.#events.connected(CLUSTER)
    this.#isTroubled = reason !== undefined
  }

  /** Returns whether every slot has a master that is connected. */
  #isWhole(): boolean {
    if (this.#clueless.size > 0 || this.#owners.length < SLOTS || this.#owners.includes(undefined as never))
      return false
    return [...this.#links.values()].every(({ isUp }) => isUp)
  }

  /** Asks one node after the other for the map, and returns why there is none if that fails. */
  async #readMap(): Promise<string | undefined> {
    const clueless = [...this.#clueless]
    this.#clueless.clear()
    const known = shuffled([...this.#links.keys()].filter((address) => !clueless.includes(address)))
    const sources = [
      ...known.map((address) => ({
        host: hostPortOf(address).host,
        ask: () => call({ ask: (_, args, asker) => this.#send(address, args, asker) }, '', MAP),
      })),
      ...shuffled(this.#address.nodes).map((node) => ({
        host: node.host,
        ask: () => askNode({ ...this.#address, database: 0 }, node, MAP),
      })),
    ]
    let reason = ''
    for (const { host, ask } of sources) {
      if (this.#isClosed) break
      try {
        this.#adopt(slotMap(await within(NODE_TIMEOUT_MS, ask(), host), host))
        return undefined
      } catch (error) {
        reason = error instanceof Error ? error.message : String(error)
      }
    }
    return reason
  }

  #adopt(owners: string[]): void {
    if (this.#isClosed) return
    this.#owners = owners
    const masters = new Set(owners)
    for (const address of masters) if (address !== undefined) this.#linkTo(address)
    for (const [address, link] of this.#links) if (!masters.has(address)) this.#retire(address, link)
  }

  #retire(address: string, link: Link): void {
    this.#links.delete(address)
    this.#retired.add(link)
    if (link.isUp) this.#events.disconnected(address, 'it serves no slots any more')
    this.#events.retired?.(address)
    const close = () => link.connection.close().finally(() => this.#retired.delete(link))
    setTimeout(() => void close(), NODE_TIMEOUT_MS).unref?.()
  }

  /** Ends after a while, or earlier when it is woken and `isOver`. */
  #pause(ms: number | undefined, isOver: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const timer = ms === undefined ? undefined : setTimeout(resolve, ms)
      timer?.unref?.()
      this.#wake = () => {
        if (!isOver()) return
        clearTimeout(timer)
        resolve()
      }
      this.#wake()
    })
  }
}

/** The connection to one node. */
interface Link {
  readonly connection: SingleConnection
  isUp: boolean
}

const CLUSTER = 'cluster'
const MAP = ['CLUSTER', 'SLOTS']
const ASKING = ['ASKING']
const IGNORED: Asker = { answered() {}, failed() {} }

/** Says that some slots have no master, where that is so: their keys live nowhere. */
function uncovered(owners: readonly string[]): string | undefined {
  let covered = 0
  for (const owner of owners) if (owner !== undefined) covered++
  return covered === SLOTS ? undefined : `CLUSTERDOWN ${SLOTS - covered} of ${SLOTS} slots have no master`
}

/** Passes each warning on once: all nodes of a cluster are set up alike. */
function warnOnce(events: ConnectionEvents): ConnectionEvents {
  const said = new Set<string>()
  return {
    connecting: (shard) => events.connecting?.(shard),
    connected: (shard) => events.connected(shard),
    disconnected: (shard, reason) => events.disconnected(shard, reason),
    retired: (shard) => events.retired?.(shard),
    warned: (warning) => {
      if (said.has(warning)) return
      said.add(warning)
      events.warned(warning)
    },
  }
}

/** Spreads the nodes that ask over the nodes that are asked. */
function shuffled<T>(list: readonly T[]): T[] {
  return list
    .map((item) => ({ item, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item)
}
