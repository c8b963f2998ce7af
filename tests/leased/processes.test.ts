import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { compileLimit, type LimitOptions } from '../../src/core/limit.ts'
import { overAdmission } from '../../src/core/over-admission.ts'
import { makeTemporaryDir, reapAtExit } from '../servers/reaper.mjs'
import { type RedisServer, startRedis } from '../servers/redis.mjs'
import { until } from '../servers/until.mjs'

const SCRIPT = new URL('./leased-node.mjs', import.meta.url)

let redis: RedisServer
let dir: string
let runs = 0
beforeAll(async () => {
  redis = await startRedis()
  dir = makeTemporaryDir('leased')
})
afterAll(() => redis.stop())

/** A Node is a process that spends, and the file that it writes a byte to for each hit. */
class Node {
  readonly process: ChildProcess
  readonly #file: string

  constructor(consistency: string, limit: LimitOptions, key: string, number: number) {
    this.#file = join(dir, `${key}.${number}`)
    writeFileSync(this.#file, '')
    this.process = fork(SCRIPT, [redis.url, consistency, JSON.stringify(limit), key, this.#file])
    reapAtExit(this.process)
  }

  get admitted(): number {
    return statSync(this.#file).size
  }

  /** Resolves with the next message, and rejects when the process ends instead. */
  heard(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.process.once('message', resolve)
      this.process.once('exit', (code, signal) => reject(new Error(`the node ended with ${code ?? signal}`)))
    })
  }
}

async function startNodes(count: number, consistency: string, limit: LimitOptions): Promise<Node[]> {
  const key = `sluice:{0}:k${runs++}`
  const nodes = Array.from({ length: count }, (_, i) => new Node(consistency, limit, key, i))
  await Promise.all(nodes.map((node) => node.heard()))
  return nodes
}

const sum = (nodes: readonly Node[]): number => nodes.reduce((all, { admitted }) => all + admitted, 0)

/** Lets nodes spend until nothing is left, and returns what they said. */
async function runToTheEnd(nodes: readonly Node[]): Promise<{ decisions: number; asked: number }[]> {
  const ends = nodes.map((node) => node.heard())
  const exits = nodes.map((node) => once(node.process, 'exit'))
  for (const node of nodes) node.process.send('go')
  const said = (await Promise.all(ends)) as { decisions: number; asked: number }[]
  await Promise.all(exits)
  return said
}

/** A log, because nodes stop when they have to wait for long: a window that follows the clock may end while a test runs. */
const HOUR: LimitOptions = { algorithm: 'sliding_log', limit: 6_000, window: '1d' }

describe('several processes on one Redis', () => {
  it('that lease admit the limit together, not one more, and mostly without asking', async () => {
    const nodes = await startNodes(4, 'leased', HOUR)
    const said = await runToTheEnd(nodes)
    expect(sum(nodes)).toBe(HOUR.limit)
    const asked = said.reduce((all, each) => all + each.asked, 0)
    expect(asked).toBeLessThan(HOUR.limit / 2)
  })

  it('that lease admit no more when one of them is killed in the middle', async () => {
    const nodes = await startNodes(3, 'leased', HOUR)
    const [victim, ...others] = nodes as [Node, ...Node[]]
    const exit = once(victim.process, 'exit')
    victim.process.send('go')
    await until('it has spent something', () => victim.admitted > 100)
    victim.process.kill('SIGKILL')
    await exit
    await runToTheEnd(others)
    expect(sum(nodes)).toBeLessThanOrEqual(HOUR.limit)
    expect(sum(nodes)).toBeGreaterThan(HOUR.limit / 2)
  })

  it('that lease from a bucket admit what it holds and refills, and no more', async () => {
    const bucket: LimitOptions = { algorithm: 'token_bucket', limit: 2_000, window: '1s', burst: 500 }
    const nodes = await startNodes(3, 'leased', bucket)
    const now = async (): Promise<number> => {
      const [seconds, micros] = (await redis.call('TIME')) as [string, string]
      return Number(seconds) * 1000 + Number(micros) / 1000
    }
    const from = await now()
    const ends = nodes.map((node) => node.heard())
    for (const node of nodes) node.process.send('go')
    await until('the bucket has been emptied and refilled', () => sum(nodes) > 3_000)
    for (const node of nodes) node.process.send('stop')
    await Promise.all(ends)
    const refilled = Math.floor(((await now()) - from + 1) * 2)
    expect(sum(nodes)).toBeLessThanOrEqual(500 + refilled)
  })

  it('that count eventually go over by no more than their bound', async () => {
    const nodes = await startNodes(4, 'eventual', HOUR)
    await runToTheEnd(nodes)
    expect(sum(nodes)).toBeGreaterThanOrEqual(HOUR.limit)
    expect(sum(nodes)).toBeLessThanOrEqual(HOUR.limit + overAdmission(compileLimit(HOUR), 4, 100))
  })
})
