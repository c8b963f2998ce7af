import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { reapAtExit } from '../servers/reaper.mjs'
import { sharedPostgres } from '../servers/shared.ts'
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

const STORES: Readonly<Record<string, () => Promise<string>>> = {
  postgres: async () => (await sharedPostgres()).url(),
}

describe.each(Object.entries(STORES))('two processes on %s', (kind, addressOf) => {
  it('admit 300 of 300 together, by each algorithm', async () => {
    const [one, other] = await spendInTwo(kind, await addressOf())
    const sums = Object.keys(EXACT_LIMITS).map((name) => [name, (one?.[name] ?? 0) + (other?.[name] ?? 0)])
    expect(Object.fromEntries(sums)).toEqual(Object.fromEntries(Object.keys(EXACT_LIMITS).map((name) => [name, 300])))
  })
})
