import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startMemcached } from '../servers/memcached.mjs'
import { reapAtExit } from '../servers/reaper.mjs'
import { startRedisHttp } from '../servers/redis-http.mjs'
import { sharedPostgres, sharedRedis } from '../servers/shared.ts'
import { EXACT_LIMITS } from './exact-limits.mjs'

const SCRIPT = new URL('./exact-node.mjs', import.meta.url)

/** Starts two processes, lets both spend as much as they can, and returns what each was admitted. */
async function spendInTwo(kind: string, address: string): Promise<Record<string, number>[]> {
  const part = `t_${randomBytes(6).toString('hex')}`
  const nodes = [1, 2].map(() => fork(SCRIPT, [kind, address, part]))
  const heard = (node: (typeof nodes)[number]): Promise<unknown> =>
    new Promise((resolve, reject) => {
      node.once('message', resolve)
      node.once('exit', (code, signal) => reject(new Error(`the node ended with ${code ?? signal}`)))
    })
  for (const node of nodes) reapAtExit(node)
  await Promise.all(nodes.map(heard))
  const said = nodes.map(heard)
  for (const node of nodes) node.send('go')
  return (await Promise.all(said)) as Record<string, number>[]
}

/** Returns the address of each store. What was started for it ends with the test. */
const STORES: Readonly<Record<string, () => Promise<string>>> = {
  postgres: async () => (await sharedPostgres()).url(),
  memcached: async () => {
    const server = await startMemcached()
    onTestFinished(() => server.stop())
    return server.address
  },
  'redis over HTTP': async () => {
    const front = await startRedisHttp((await sharedRedis()).url, 'token')
    onTestFinished(() => front.stop())
    return front.url
  },
}

describe.each(Object.entries(STORES))('two processes on %s', (kind, addressOf) => {
  it('admit 300 of 300 together, by each algorithm', async () => {
    const [one, other] = await spendInTwo(kind, await addressOf())
    const sums = Object.keys(EXACT_LIMITS).map((name) => [name, (one?.[name] ?? 0) + (other?.[name] ?? 0)])
    expect(Object.fromEntries(sums)).toEqual(Object.fromEntries(Object.keys(EXACT_LIMITS).map((name) => [name, 300])))
  })
})
