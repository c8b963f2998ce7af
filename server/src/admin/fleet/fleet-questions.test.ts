import { randomUUID } from 'node:crypto'
import { RedisStore } from 'sluice/internal/stores/redis/redis-store'
import { describe, expect, it, onTestFinished } from 'vitest'
import { sharedRedis } from '../../../../tests/servers/shared.ts'
import { until } from '../../../../tests/servers/until.mjs'
import { type About, FleetQuestions, MAX_ANSWER } from './fleet-questions.ts'

const asText = (answer: unknown): string | undefined => (typeof answer === 'string' ? answer : undefined)

/** Makes nodes on one Redis, each with its own connection. */
async function fleet() {
  const { url } = await sharedRedis()
  const keyPrefix = randomUUID()
  const asked: string[] = []
  let heard = 0
  const node = async (id: string, others: readonly string[], answer?: (name: string, about: About) => unknown) => {
    const store = await new Promise<RedisStore>((resolve) => {
      const opened: RedisStore = new RedisStore({ url, keyPrefix, events: { connected: () => resolve(opened) } })
    })
    const questions = new FleetQuestions({
      node: id,
      redis: async () => store,
      others: () => ({ ids: others, away: 0 }),
      // No second passes.
      nowMs: () => 0,
    })
    for (const name of ['refusals', 'nearLimits', 'activity']) {
      questions.answer(name, async (about) => {
        asked.push(`${id} ${name} ${about.join()}`)
        return answer === undefined ? `${id} says ${about.join()}` : answer(name, about)
      })
    }
    await questions.listen()
    await new Promise<void>((resolve) => {
      store.listen({ noticed: () => void heard++, connected: (isConnected) => isConnected && resolve() })
    })
    onTestFinished(async () => {
      questions.stop()
      await store.close()
    })
    return { questions, store }
  }
  return { node, asked, heardAll: () => heard }
}

describe('nodes that ask each other', () => {
  it('get the answers of all that are there', async () => {
    const { node, asked } = await fleet()
    const one = await node('1', ['2', '3'])
    await node('2', [])
    await node('3', [])
    const { answers, leftOut } = await one.questions.ask('refusals', ['customer acme'], asText)
    expect([[...answers].sort(), leftOut]).toEqual([
      [
        ['2', '2 says customer acme'],
        ['3', '3 says customer acme'],
      ],
      0,
    ])
    expect(asked.sort()).toEqual(['2 refusals customer acme', '3 refusals customer acme'])
  })

  it('leave out who does not answer, fails, answers in another form, or too much', async () => {
    const { node } = await fleet()
    const one = await node('1', ['2', '3', '4', '5', 'gone'])
    await node('2', [])
    await node('3', [], () => {
      throw new Error('a fault')
    })
    await node('4', [], () => ['no text'])
    await node('5', [], () => 'x'.repeat(MAX_ANSWER + 1))
    const { answers, leftOut } = await one.questions.ask('nearLimits', [], asText)
    expect([[...answers.keys()], leftOut]).toEqual([['2'], 4])
  })

  it('ask once, however many want to know the same at the same time', async () => {
    const { node, asked } = await fleet()
    const one = await node('1', ['2'])
    await node('2', [])
    const all = await Promise.all(Array.from({ length: 50 }, () => one.questions.ask('activity', [], asText)))
    expect(all.every(({ answers }) => answers.size === 1)).toBe(true)
    expect(asked).toEqual(['2 activity '])
  })

  it('ask few different things at a time: the rest is answered without the others', async () => {
    const { node, asked } = await fleet()
    const one = await node('1', ['2'])
    await node('2', [])
    const all = await Promise.all(
      Array.from({ length: 100 }, (_, i) => one.questions.ask('refusals', [`customer ${i}`], asText)),
    )
    expect(all.filter(({ answers }) => answers.size === 1).length).toBe(8)
    expect(all.filter(({ leftOut }) => leftOut === 1).length).toBe(92)
    expect(asked).toHaveLength(8)
  })

  it('answer a bounded number of questions in a second, also from strangers', async () => {
    const { node, asked, heardAll } = await fleet()
    const { store } = await node('1', [])
    for (let i = 0; i < 500; i++) {
      const id = i.toString(16).padStart(16, '0')
      store.notify({ kind: 'ask', key: JSON.stringify([id, 'stranger', 'activity']) })
    }
    await until('all were heard', async () => heardAll() === 500)
    expect(asked.length).toBeLessThanOrEqual(40)
    expect(asked.length).toBeGreaterThan(0)
  })

  it.each(['{', '[]', '[1,2,3]', '["x","y","activity"]', '["0123456789abcdef","y","secrets"]', 'null', '"a"'])(
    'pass over what is no question: %s',
    async (key) => {
      const { node, asked, heardAll } = await fleet()
      const { store } = await node('1', [])
      store.notify({ kind: 'ask', key })
      await until('it was heard', async () => heardAll() === 1)
      expect(asked).toEqual([])
    },
  )

  it('are one where nothing is shared', async () => {
    const questions = new FleetQuestions({
      node: '1',
      redis: undefined,
      others: () => ({ ids: [], away: 0 }),
    })
    await questions.listen()
    expect(await questions.ask('refusals', [], asText)).toEqual({ answers: new Map(), leftOut: 0 })
  })
})
