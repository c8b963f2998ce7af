// @ts-check
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { requireCommand } from '../../scripts/system-packages.mjs'
import { launchRedis } from './redis.mjs'
import { until } from './until.mjs'

const execute = promisify(execFile)

/** What no machine takes, however busy it is. */
const PATIENT_MS = 60_000
/** Redis gives a failover up after five seconds. Then it is asked for again. */
const FAILOVER_MS = 7_000

/** @typedef {import('./redis.mjs').RedisEndpoint} RedisEndpoint */
/** @typedef {import('./redis.mjs').RedisServer} RedisServer */

/**
 * @template E
 * @typedef {{ from: number, to: number, master: E, replicas: E[] }} SlotRange both ends included
 */

/**
 * @typedef {object} ClusterOptions
 * @property {number} [masters] 3, the fewest that Redis allows
 * @property {number} [replicasPerMaster] 1
 * @property {number} [nodeTimeoutMs] how long a silent node counts as alive. By default a minute: on a busy machine, a node may not get its
 *   turn for seconds, and is not to lose its slots for that. Tests of failures wait for it, so theirs is shorter
 * @property {string[]} [args] more settings of each node, as the command line takes them
 */

/**
 * Talks to the nodes of a cluster that somebody else may have started.
 * @template {RedisEndpoint} [E=RedisEndpoint]
 */
export class ClusterView {
  /** @param {readonly E[]} nodes */
  constructor(nodes) {
    this.nodes = nodes
  }

  /** The address of the first node; clients find the others. */
  get url() {
    return this.nodes[0].url
  }

  get urls() {
    return this.nodes.map(({ url }) => url)
  }

  /** Those that can answer. */
  get upNodes() {
    return this.nodes.filter(({ isUp }) => isUp)
  }

  /**
   * Runs redis-cli on the first node that is up; it follows redirections.
   * @param {...(string | number)} args
   */
  cli(...args) {
    return this.upNodes[0].cli('-c', ...args)
  }

  /**
   * Returns who serves which slots, as a node sees it: the first that is up, unless told otherwise.
   * @param {E} [witness]
   * @returns {Promise<SlotRange<E>[]>}
   */
  async slots(witness = this.upNodes[0]) {
    const reply = /** @type {[number, number, ...[string, number][]][]} */ (await witness.call('CLUSTER', 'SLOTS'))
    return reply.map(([from, to, ...members]) => {
      const [master, ...replicas] = members.map(([, port]) => this.#nodeAt(port))
      return { from, to, master, replicas }
    })
  }

  /** @param {number} port */
  #nodeAt(port) {
    const node = this.nodes.find((each) => each.port === port)
    if (node === undefined) throw new Error(`no node of the cluster has the port ${port}`)
    return node
  }

  /** @param {number} slot */
  async #rangeOf(slot) {
    const found = (await this.slots()).find(({ from, to }) => from <= slot && slot <= to)
    if (found === undefined) throw new Error(`nobody serves slot ${slot}`)
    return found
  }

  /**
   * Returns the master that serves a slot.
   * @param {number} slot
   */
  async nodeFor(slot) {
    return (await this.#rangeOf(slot)).master
  }

  /**
   * Returns the replicas of the master that serves a slot.
   * @param {number} slot
   */
  async replicasFor(slot) {
    return (await this.#rangeOf(slot)).replicas
  }

  /** Returns the nodes that serve slots. */
  async masters() {
    return [...new Set((await this.slots()).map(({ master }) => master))]
  }

  /**
   * Resolves when all nodes that are up say that the cluster is, all give every slot to the same master that is up, and
   * every replica follows its master.
   */
  async settled() {
    await until('the cluster is settled', async () => {
      const accounts = await Promise.all(this.upNodes.map((node) => this.#account(node)))
      return accounts.every((account) => account !== undefined && account === accounts[0])
    })
  }

  /**
   * Returns the slots as a node sees them, in a form that compares; undefined when something is amiss.
   * @param {E} node
   */
  async #account(node) {
    if ((await node.field('cluster_state', 'CLUSTER', 'INFO')) !== 'ok') return undefined
    if ((await node.field('cluster_known_nodes', 'CLUSTER', 'INFO')) !== `${this.nodes.length}`) return undefined
    const ranges = await this.slots(node)
    if (ranges.some(({ master }) => !master.isUp)) return undefined
    if ((await node.field('role', 'INFO', 'replication')) === 'slave') {
      const isKnown = ranges.some(({ replicas }) => replicas.includes(node))
      if (!isKnown || (await node.field('master_link_status', 'INFO', 'replication')) !== 'up') return undefined
    }
    return ranges
      .sort((a, b) => a.from - b.from)
      .map(({ from, to, master, replicas }) => `${from}-${to} ${master.port} ${portsOf(replicas)}`)
      .join()
  }
}

/** @param {RedisEndpoint[]} nodes */
const portsOf = (nodes) =>
  nodes
    .filter(({ isUp }) => isUp)
    .map(({ port }) => port)
    .sort()

/**
 * A Redis Cluster that this process has started. Its nodes can be killed, paused and restarted one by one.
 * @extends {ClusterView<RedisServer>}
 */
export class Cluster extends ClusterView {
  /**
   * Opens a slot for its move to another master and leaves it so: the source answers ASK for keys that it lacks, and
   * both answer TRYAGAIN for several keys of which some are elsewhere.
   * @param {number} slot
   * @param {RedisServer} to
   */
  async beginMove(slot, to) {
    const from = await this.nodeFor(slot)
    const [fromId, toId] = await Promise.all([idOf(from), idOf(to)])
    await to.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', fromId)
    await from.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', toId)
    return new SlotMove({ cluster: this, slot, from, to })
  }

  /**
   * Moves a slot and its keys to another master and resolves when all nodes know.
   * @param {number} slot
   * @param {RedisServer} to
   */
  async moveSlot(slot, to) {
    const move = await this.beginMove(slot, to)
    await move.moveAllKeys()
    await move.finish()
  }

  /**
   * Makes a replica the master of a slot while all are well, and resolves with it when all nodes know.
   * @param {number} slot
   */
  async failover(slot) {
    const [replica] = (await this.replicasFor(slot)).filter(({ isUp }) => isUp)
    if (replica === undefined) throw new Error(`the master of slot ${slot} has no replica that is up`)
    let askAt = 0
    await until('the replica is master', async () => {
      if ((await this.nodeFor(slot)) === replica) return true
      if (performance.now() < askAt) return false
      askAt = performance.now() + FAILOVER_MS
      await replica.call('CLUSTER', 'FAILOVER')
      return false
    })
    await this.settled()
    return replica
  }

  /** Ends all nodes and removes their temporary folders. */
  async stop() {
    await Promise.all(this.nodes.map((node) => node.stop()))
  }

  async [Symbol.asyncDispose]() {
    await this.stop()
  }
}

/** A slot on its way from one master to another. */
export class SlotMove {
  #cluster

  /** @param {{ cluster: Cluster, slot: number, from: RedisServer, to: RedisServer }} plan */
  constructor({ cluster, slot, from, to }) {
    this.#cluster = cluster
    this.slot = slot
    this.from = from
    this.to = to
  }

  /**
   * Moves some keys of the slot.
   * @param {...string} keys
   */
  async moveKeys(...keys) {
    if (keys.length === 0) return
    await this.from.call('MIGRATE', this.to.host, this.to.port, '', 0, PATIENT_MS, 'KEYS', ...keys)
  }

  /** Moves the keys that are still at the source. */
  async moveAllKeys() {
    const keys = await this.from.call('CLUSTER', 'GETKEYSINSLOT', this.slot, 1_000_000)
    await this.moveKeys(.../** @type {string[]} */ (keys))
  }

  /** Gives the slot to its new master and resolves when all nodes know. */
  async finish() {
    const id = await idOf(this.to)
    for (const node of [this.to, this.from]) await node.call('CLUSTER', 'SETSLOT', this.slot, 'NODE', id)
    await this.#cluster.settled()
  }

  /** Closes the slot again where it was. Keys that have moved are lost to clients, as they would be in earnest. */
  async abort() {
    for (const node of [this.to, this.from]) await node.call('CLUSTER', 'SETSLOT', this.slot, 'STABLE')
  }
}

/** @param {RedisServer} node */
const idOf = async (node) => String(await node.call('CLUSTER', 'MYID'))

/**
 * Starts a Redis Cluster and resolves when all nodes agree that it is up and replicas follow.
 * @param {ClusterOptions} [options]
 * @returns {Promise<Cluster>}
 */
export async function startCluster({ masters = 3, replicasPerMaster = 1, nodeTimeoutMs = PATIENT_MS, args = [] } = {}) {
  const settings = [
    'cluster-enabled yes',
    // Nodes find each other sooner with a short one.
    `cluster-node-timeout ${Math.min(nodeTimeoutMs, 1500)}`,
    // A replica may take over however long it has been without its master.
    'cluster-replica-validity-factor 0',
  ]
  const nodes = await Promise.all(
    Array.from({ length: masters * (1 + replicasPerMaster) }, () =>
      launchRedis({ args, prepare: async (port) => ({ address: { port }, settings: [`port ${port}`, ...settings] }) }),
    ),
  )
  const members = nodes.map(({ host, port }) => `${host}:${port}`)
  const options = ['--cluster-replicas', `${replicasPerMaster}`, '--cluster-yes']
  await execute(requireCommand('redis-cli'), ['--cluster', 'create', ...members, ...options])
  const cluster = new Cluster(nodes)
  await cluster.settled()
  await Promise.all(nodes.map((node) => node.call('CONFIG', 'SET', 'cluster-node-timeout', nodeTimeoutMs)))
  await Promise.all(nodes.map((node) => node.call('CONFIG', 'REWRITE')))
  // Until then, one may have been taken for dead.
  await cluster.settled()
  return cluster
}
