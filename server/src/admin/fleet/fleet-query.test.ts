import { randomUUID } from 'node:crypto'
import { RedisStore } from 'sluice/internal/stores/redis/redis-store'
import { expect, it, onTestFinished } from 'vitest'
import { sharedRedis } from '../../../../tests/servers/shared.ts'
import { FleetQuery } from './fleet-query.ts'
import { FleetQuestions } from './fleet-questions.ts'

const isNumbers = (value: unknown): value is readonly number[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'number')

/** Opens nodes on one Redis, each of which answers with its list, as far as it may be sent. */
async function openNodes<const Ids extends readonly string[]>(ids: Ids, ownOf: (id: string) => unknown) {
  const { url } = await sharedRedis()
  const keyPrefix = randomUUID()
  const asked: string[] = []
  const open = async (id: string) => {
    const store = await new Promise<RedisStore>((resolve) => {
      const opened: RedisStore = new RedisStore({ url, keyPrefix, events: { connected: () => resolve(opened) } })
    })
    const others = () => ({ ids: ids.filter((each) => each !== id), away: 0 })
    const questions = new FleetQuestions({ node: id, redis: async () => store, others })
    const query = new FleetQuery<readonly number[]>(questions, {
      name: 'numbers',
      own: async (about) => {
        asked.push(`${id} ${about.join()}`)
        return ownOf(id) as readonly number[]
      },
      sent: (answer) => (isNumbers(answer) ? answer.slice(0, 2) : answer),
      read: (answer) => (isNumbers(answer) ? answer : undefined),
    })
    await questions.listen()
    await new Promise<void>((resolve) => {
      store.listen({ noticed: () => {}, connected: (isConnected) => isConnected && resolve() })
    })
    onTestFinished(async () => {
      questions.stop()
      await store.close()
    })
    return query
  }
  return { nodes: await Promise.all(ids.map(open)), asked }
}

it('has the whole answer of this node, and of others what they may send', async () => {
  const { nodes, asked } = await openNodes(['a', 'b'], (id) => (id === 'a' ? [1, 2, 3] : [4, 5, 6]))
  const found = await nodes[0].ask('fleet', ['x'])
  expect(found).toEqual({ own: [1, 2, 3], others: new Map([['b', [4, 5]]]), nodes: 2, nodesLeftOut: 0 })
  expect(asked.sort()).toEqual(['a x', 'b x'])
})

it('leaves out, and counts, a node whose answer has another form', async () => {
  const { nodes } = await openNodes(['a', 'b', 'c'], (id) => (id === 'b' ? 'nonsense' : [7]))
  expect(await nodes[0].ask('fleet')).toEqual({ own: [7], others: new Map([['c', [7]]]), nodes: 2, nodesLeftOut: 1 })
})

it('asks no other node about this one alone', async () => {
  const { nodes, asked } = await openNodes(['a', 'b'], () => [1])
  expect(await nodes[0].ask('node')).toEqual({ own: [1], others: new Map(), nodes: 1, nodesLeftOut: 0 })
  expect(asked).toEqual(['a '])
})
