import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { RULES } from './fleet.mjs'

/**
 * What can go wrong, one after the other.
 *
 * Each fault has a `name`; says in `what` what happens; names in `fleet` what it needs (see startFleet); begins in
 * `begin`, is renewed in `again` every 200 ms while it lasts, and ends in `end`. `shows` is the family of metrics that
 * has to change on a node, `down` for a node whose metrics cannot be read. Where Redis `forgets` what it has counted, it
 * may admit the limit once more.
 */
export const FAULTS = [
  {
    name: 'redis-killed',
    what: 'Redis is killed with SIGKILL, and starts again empty',
    begin: ({ redis }) => redis.kill(),
    end: ({ redis }) => redis.restart(),
    shows: 'ratelimit_circuit_state',
    // A Redis that comes back empty knows of no hit.
    forgets: true,
  },
  {
    name: 'redis-stopped',
    what: 'Redis stands still (SIGSTOP)',
    begin: ({ redis }) => redis.pause(),
    end: ({ redis }) => redis.resume(),
    shows: 'ratelimit_circuit_state',
  },
  {
    name: 'client-pause',
    what: '`CLIENT PAUSE` for all commands, one second at a time',
    again: ({ redis }) => redis.call('CLIENT', 'PAUSE', 1_000, 'ALL').catch(() => {}),
    shows: 'ratelimit_redis_errors_total',
  },
  {
    name: 'half-open',
    what: 'connections to Redis stay open, and nothing travels on them',
    begin: ({ proxy }) => proxy.blackhole(),
    end: ({ proxy }) => proxy.heal(),
    shows: 'ratelimit_circuit_state',
  },
  {
    name: 'cut',
    what: 'connections to Redis are reset, five times a second',
    again: ({ proxy }) => proxy.cut(),
    shows: 'ratelimit_redis_errors_total',
  },
  {
    name: 'refused',
    what: 'connections to Redis are reset, and new ones refused',
    begin: async ({ proxy }) => {
      await proxy.refuse()
      await proxy.cut()
    },
    end: ({ proxy }) => proxy.heal(),
    shows: 'ratelimit_circuit_state',
  },
  {
    name: 'slow-net',
    what: 'replies of Redis take 10 to 80 ms, changing five times a second',
    again: ({ proxy }, turn) => proxy.delay([10, 80, 30, 55, 20][turn % 5]),
    end: ({ proxy }) => proxy.heal(),
    shows: 'ratelimit_fallback_total',
  },
  {
    name: 'readonly',
    what: 'Redis is made a replica of no one, and refuses writes (`READONLY`)',
    begin: ({ redis }) => redis.call('REPLICAOF', '127.0.0.1', 1),
    end: ({ redis }) => redis.call('REPLICAOF', 'NO', 'ONE'),
    shows: 'ratelimit_redis_errors_total',
  },
  {
    name: 'scripts-flushed',
    what: '`SCRIPT FLUSH` and `FUNCTION FLUSH`, five times a second',
    again: async ({ redis }) => {
      await redis.call('SCRIPT', 'FLUSH')
      await redis.call('FUNCTION', 'FLUSH')
    },
  },
  {
    name: 'out-of-memory',
    what: 'Redis has no memory left (`maxmemory`, no eviction)',
    begin: ({ redis }) => redis.call('CONFIG', 'SET', 'maxmemory', 1, 'maxmemory-policy', 'noeviction'),
    end: ({ redis }) => redis.call('CONFIG', 'SET', 'maxmemory', 0),
    shows: 'ratelimit_redis_errors_total',
  },
  {
    name: 'disk-full',
    what: 'Redis cannot save, and refuses writes (`MISCONF`), as with a full disk',
    begin: async ({ redis }) => {
      rmSync(redis.dir, { recursive: true })
      await redis.call('CONFIG', 'SET', 'save', '1 1')
    },
    end: ({ redis }) => redis.call('CONFIG', 'SET', 'stop-writes-on-bgsave-error', 'no'),
    lastsMs: 6_000,
    shows: 'ratelimit_redis_errors_total',
  },
  {
    name: 'sentinel-failover',
    what: 'the master is killed; Sentinels (1 s) promote the replica',
    fleet: { redis: 'sentinel' },
    begin: async ({ sentinel }) => {
      const master = await sentinel.agreed()
      await master.kill()
      await sentinel.agreed({ not: master })
    },
    shows: 'ratelimit_redis_errors_total',
    forgets: true,
  },
  {
    name: 'cluster-failover',
    what: 'a master of a Redis Cluster is killed; its replica (1.5 s) takes over',
    fleet: { redis: 'cluster' },
    begin: async ({ cluster }) => {
      const [busiest] = await byKeys(cluster)
      await busiest.kill()
      await cluster.settled()
    },
    shows: 'ratelimit_redis_errors_total',
    forgets: true,
  },
  {
    name: 'moving-slots',
    what: 'the slots of all counters move to another master of the cluster, under load',
    fleet: { redis: 'cluster' },
    begin: async ({ cluster }) => {
      const [from, to] = await byKeys(cluster)
      for (const slot of await slotsOf(from)) await cluster.moveSlot(slot, to)
    },
  },
  {
    name: 'node-killed',
    what: 'one of two nodes is killed with SIGKILL, and started again',
    begin: ({ nodes }) => nodes[0].kill(),
    end: ({ nodes }) => nodes[0].start(),
    shows: 'down',
  },
  {
    name: 'node-stopped',
    what: 'one of two nodes stands still (SIGSTOP)',
    begin: ({ nodes }) => nodes[0].pause(),
    end: ({ nodes }) => nodes[0].resume(),
    shows: 'down',
  },
  {
    name: 'node-ended',
    what: 'one of two nodes gets SIGTERM under load, and is started again',
    begin: ({ nodes }) => nodes[0].end('SIGTERM'),
    end: ({ nodes }) => nodes[0].start(),
    shows: 'down',
  },
  {
    name: 'worker-killed',
    what: 'one of two workers of a node is killed with SIGKILL',
    fleet: { workers: 2 },
    begin: ({ nodes: [node] }) => process.kill(node.workers()[0], 'SIGKILL'),
    shows: 'process_start_time_seconds',
  },
  {
    name: 'worker-stopped',
    what: 'one of two workers of a node stands still (SIGSTOP)',
    fleet: { workers: 2 },
    begin: ({ nodes: [node] }) => process.kill(node.workers()[0], 'SIGSTOP'),
    end: ({ nodes: [node] }) => continueIfThere(node.workers()[0]),
  },
  {
    name: 'database-killed',
    what: 'PostgreSQL is killed with SIGKILL, and starts again',
    fleet: { hasDatabase: true },
    begin: ({ postgres }) => postgres.kill(),
    end: ({ postgres }) => postgres.restart(),
    shows: 'ratelimit_database_up',
  },
  {
    name: 'database-stopped',
    what: 'PostgreSQL stands still (SIGSTOP)',
    fleet: { hasDatabase: true },
    begin: ({ postgres }) => signalFamily(postgres.pid, 'SIGSTOP'),
    end: ({ postgres }) => signalFamily(postgres.pid, 'SIGCONT'),
    shows: 'ratelimit_database_up',
    lastsMs: 30_000,
  },
  {
    name: 'torn-rules',
    what: 'a rule file that ends in the middle of a line',
    begin: ({ rules }) => writeFileSync(rules, RULES.slice(0, RULES.length - 20)),
    end: ({ rules }) => writeFileSync(rules, RULES),
    shows: 'ratelimit_config_last_load_successful',
  },
  {
    name: 'wrong-rules',
    what: 'a rule file with a limit of −1',
    begin: ({ rules }) => writeFileSync(rules, RULES.replace(/requests_per_unit: \d+/, 'requests_per_unit: -1')),
    end: ({ rules }) => writeFileSync(rules, RULES),
    shows: 'ratelimit_config_last_load_successful',
  },
  {
    name: 'many-keys',
    what: 'a caller makes up 100,000 keys',
    begin: async ({ nodes }) => {
      for (let i = 0; i < 400; i++) await makeUpKeys(nodes[i % 2], i * 250, 250)
    },
  },
]

/** Returns the masters, the one with the most keys first. */
async function byKeys(cluster) {
  const masters = await cluster.masters()
  const sizes = await Promise.all(masters.map(async (master) => [Number(await master.call('DBSIZE')), master]))
  return sizes.toSorted(([a], [b]) => b - a).map(([, master]) => master)
}

/** Returns the slots that a master has keys in. */
async function slotsOf(master) {
  const [, keys] = await master.call('SCAN', 0, 'COUNT', 10_000)
  const slots = await Promise.all(keys.map((key) => master.call('CLUSTER', 'KEYSLOT', key)))
  return [...new Set(slots.map(Number))]
}

/** Sends a signal to a process and to its children. */
function signalFamily(pid, signal) {
  const parentOf = (stat) => Number(/\) \w (\d+)/.exec(stat)?.[1])
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  for (const each of pids) {
    const isIn = Number(each) === pid || parentOf(statOf(each)) === pid
    if (isIn) process.kill(Number(each), signal)
  }
}

/** A process may end while we look. */
function statOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return ''
  }
}

function continueIfThere(pid) {
  try {
    process.kill(pid, 'SIGCONT')
  } catch (error) {
    if (error.code !== 'ESRCH') throw error
  }
}

async function makeUpKeys({ http }, from, count) {
  const descriptors = (n) => [{ entries: [{ key: 'counted', value: `made up ${n}` }] }]
  for (let n = from; n < from + count; n += 64) {
    const body = { domain: 'chaos', descriptors: Array.from({ length: 64 }, (_, i) => descriptors(n + i)[0]) }
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
    await (await fetch(`http://${http}/v1/check`, init)).arrayBuffer()
  }
}
