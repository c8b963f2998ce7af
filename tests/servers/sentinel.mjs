// @ts-check
import { launchRedis, startRedis } from './redis.mjs'
import { RespError } from './resp.mjs'
import { until } from './until.mjs'

/** @typedef {import('./redis.mjs').RedisEndpoint} RedisEndpoint */
/** @typedef {import('./redis.mjs').RedisServer} RedisServer */

/**
 * @typedef {object} SentinelOptions
 * @property {number} [replicas] 1
 * @property {number} [sentinels] 3
 * @property {string} [name] of the master: `main`
 * @property {string} [password] of master and replicas; the Sentinels themselves have none
 * @property {number} [downAfterMs] how long a silent master counts as alive. By default a minute: on a busy machine, it may not get its turn for
 *   seconds. Tests of failures wait for it, so theirs is shorter
 */

/**
 * Talks to Sentinels, and to the servers that they watch.
 * @template {RedisEndpoint} [E=RedisEndpoint]
 */
export class SentinelView {
  /** @param {{ name: string, sentinels: readonly E[], nodes: readonly E[] }} members */
  constructor({ name, sentinels, nodes }) {
    this.name = name
    /** The Sentinels. */
    this.sentinels = sentinels
    /** Master and replicas; master() tells which is which. */
    this.nodes = nodes
  }

  /** What a client library takes as the list of Sentinels. */
  get addresses() {
    return this.sentinels.map(({ host, port }) => ({ host, port }))
  }

  /** Returns the server that all Sentinels that are up name as master; undefined while they disagree. */
  async master() {
    const up = this.sentinels.filter(({ isUp }) => isUp)
    const ports = await Promise.all(up.map((sentinel) => this.#masterPort(sentinel)))
    return new Set(ports).size === 1 ? this.nodes.find(({ port }) => port === ports[0]) : undefined
  }

  /** @param {E} sentinel */
  async #masterPort(sentinel) {
    const address = await sentinel.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', this.name)
    return Array.isArray(address) ? Number(address[1]) : undefined
  }

  /** @param {E} sentinel */
  async #isSettled(sentinel) {
    const reply = await sentinel.call('SENTINEL', 'MASTER', this.name)
    const fields = toRecord(reply)
    const others = this.sentinels.length - 1
    const replicas = this.nodes.filter(({ isUp }) => isUp).length - 1
    return (
      fields.flags === 'master' &&
      Number(fields['num-other-sentinels']) === others &&
      Number(fields['num-slaves']) >= replicas
    )
  }

  /**
   * Resolves with the master when all Sentinels that are up name the same server, it is a master, and every replica
   * that is up follows it. With `not`, it waits for a master other than that one.
   * @param {{ not?: E }} [condition]
   * @returns {Promise<E>}
   */
  agreed({ not } = {}) {
    return until(`the Sentinels agree on a ${not ? 'new ' : ''}master`, async () => {
      const master = await this.master()
      if (master === undefined || master === not) return undefined
      const settled = await Promise.all(
        this.sentinels.filter(({ isUp }) => isUp).map((sentinel) => this.#isSettled(sentinel)),
      )
      return settled.every(Boolean) && (await this.#isFollowed(master)) ? master : undefined
    })
  }

  /** @param {E} master */
  async #isFollowed(master) {
    if ((await master.field('role', 'INFO', 'replication')) !== 'master') return false
    const replicas = this.nodes.filter((node) => node !== master && node.isUp)
    const links = replicas.map(async (replica) => [
      await replica.field('master_port', 'INFO', 'replication'),
      await replica.field('master_link_status', 'INFO', 'replication'),
    ])
    return (await Promise.all(links)).every(([port, status]) => port === `${master.port}` && status === 'up')
  }
}

/** @param {import('./resp.mjs').Reply} reply */
function toRecord(reply) {
  const list = Array.isArray(reply) ? reply.map(String) : []
  return Object.fromEntries(list.flatMap((name, i) => (i % 2 === 0 ? [[name, list[i + 1]]] : [])))
}

/**
 * A master with replicas and Sentinels that this process has started.
 * @extends {SentinelView<RedisServer>}
 */
export class SentinelSystem extends SentinelView {
  /**
   * @override
   * @param {{ not?: RedisServer }} [condition]
   */
  async agreed(condition = {}) {
    await until('the Sentinels name a master that is up', async () => {
      const master = await this.master()
      return master?.isUp && master !== condition.not
    })
    // The failover is over. What is left is to tell others whom to follow, which takes four periods.
    await this.#setPeriods(100)
    const master = await super.agreed(condition)
    await this.#setPeriods(500)
    return master
  }

  /** @param {number} ms */
  async #setPeriods(ms) {
    await Promise.all(this.sentinels.filter(({ isUp }) => isUp).map((sentinel) => setPeriods(sentinel, ms)))
  }

  /** Makes a replica the master while all are well, and resolves with it once everybody agrees. */
  async failover() {
    const before = await this.agreed()
    let askAt = 0
    await until('there is another master', async () => {
      const master = await this.master()
      if (master !== undefined && master !== before) return true
      if (performance.now() < askAt) return false
      const isStarted = await this.sentinels[0].call('SENTINEL', 'FAILOVER', this.name).catch(ifNotYet)
      if (isStarted) askAt = performance.now() + FAILOVER_MS
      return false
    })
    return this.agreed({ not: before })
  }

  /** Ends all of it and removes its temporary folders. */
  async stop() {
    await Promise.all([...this.sentinels, ...this.nodes].map((server) => server.stop()))
  }

  async [Symbol.asyncDispose]() {
    await this.stop()
  }
}

/** Sentinels give a failover up after two seconds for each of its steps. Then it is asked for again. */
const FAILOVER_MS = 10_000

/** A Sentinel that has not yet heard of a good replica, or that is still in the last failover, can be asked again. */
const ifNotYet = (/** @type {unknown} */ error) => {
  if (error instanceof RespError && /^(NOGOODSLAVE|INPROG)/.test(error.message)) return undefined
  throw error
}

/**
 * Starts a master, its replicas and their Sentinels, and resolves when all agree.
 * @param {SentinelOptions} [options]
 * @returns {Promise<SentinelSystem>}
 */
export async function startSentinel({
  replicas = 1,
  sentinels = 3,
  name = 'main',
  password,
  downAfterMs = 60_000,
} = {}) {
  const master = await startRedis(password === undefined ? {} : { password })
  const followers = Array.from({ length: replicas }, () => startReplica(master))
  const settings = [
    `sentinel monitor ${name} 127.0.0.1 ${master.port} ${Math.floor(sentinels / 2) + 1}`,
    `sentinel down-after-milliseconds ${name} ${downAfterMs}`,
    `sentinel failover-timeout ${name} 2000`,
    ...(password === undefined ? [] : [`sentinel auth-pass ${name} ${password}`]),
  ]
  const watchers = Array.from({ length: sentinels }, () => startOneSentinel(settings))
  const system = new SentinelSystem({
    name,
    sentinels: await Promise.all(watchers),
    nodes: [master, ...(await Promise.all(followers))],
  })
  await system.agreed()
  return system
}

/**
 * Tells a server whom to follow as Sentinels do, so that a restart finds what the last of them told it.
 * @param {RedisServer} master
 */
async function startReplica({ port, password }) {
  const replica = await startRedis(password === undefined ? {} : { password })
  await replica.call('REPLICAOF', '127.0.0.1', port)
  await replica.call('CONFIG', 'REWRITE')
  return replica
}

/** @param {string[]} settings */
function startOneSentinel(settings) {
  return launchRedis({
    sentinel: true,
    prepare: async (port) => ({ address: { port }, settings: [`port ${port}`, ...settings] }),
  })
}

/**
 * Has a Sentinel look around more often than every two to ten seconds: they find each other in 0.2 s instead of 4 s.
 * Redis 7 allows that to tests; older ones take their time. For a failover the periods have to be longer: a Sentinel
 * demotes a replica that calls itself master after four of them, and ignores one that told nothing for three, while the
 * Sentinel that leads the failover asks a replica only once a second.
 * @param {RedisServer} sentinel
 * @param {number} ms
 */
async function setPeriods(sentinel, ms) {
  await sentinel.call('SENTINEL', 'DEBUG', 'INFO-PERIOD', ms, 'PUBLISH-PERIOD', ms).catch(() => {})
}
