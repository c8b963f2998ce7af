import { SimpleError } from '@redis/client'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { compileLimit } from '../../core/limit.ts'
import { StoreFault } from '../../engine/store-fault.ts'
import { Batcher } from './batch/batcher.ts'
import type { Args } from './connection/connection.ts'
import { FakeConnection } from './connection/fake-connection.suite.ts'
import { decideFormat, type Group } from './formats/wire-format.ts'

const LIMIT = compileLimit({ limit: 1_000, window: '1m' })
const VERDICT_BYTES = 21
const ALONE = String(decideFormat.script.asFunction?.name)
const BY_NODE = String(decideFormat.byNode?.script.asFunction?.name)
const TRYAGAIN = new SimpleError('TRYAGAIN Multiple keys request during rehashing of slot')

/** A Batcher before a cluster of two nodes. Partitions {a} to {c} are on the first, and {x} is on the other. */
function bench() {
  const places: Record<string, string> = { '{a}': 'one', '{b}': 'one', '{c}': 'one', '{x}': 'other' }
  const nodeOf = (partition: string): string | undefined => places[partition]
  const connection = Object.assign(new FakeConnection((key) => nodeOf(key.slice(0, 3)) ?? 'cluster'), {
    nodeOf,
    spansPartitions: false,
  })
  const received: string[] = []
  const batcher = new Batcher(connection, decideFormat, {
    breakerChanged: (shard, state) => received.push(`${shard} ${state}`),
    callEnded: (shard, _durationMs, decisions, fault) =>
      received.push(`${shard} ${decisions} ${fault?.reason ?? 'ok'}`),
  })
  const ask = (key: string, { timeoutMs = 5, keys = 1 } = {}): Promise<string> => {
    const charges = Array.from({ length: keys }, (_, i) => ({
      key: `${key}${i}`,
      limit: LIMIT,
      cost: 1,
      enforce: true,
    }))
    const group: Group = { charges, permits: undefined }
    return batcher.submit(key.slice(0, 3), group, timeoutMs).then(
      ([{ remaining }]) => `${remaining} left`,
      (fault: unknown) => (fault instanceof StoreFault ? fault.reason : String(fault)),
    )
  }
  /** Says of each call where it went, and which keys it names. */
  const sent = (): string[] => connection.sent.map(({ key, args }) => `${key}: ${keysIn(args).join(' ')}`)
  /** Lets a call succeed; a call for a node leaves those sections alone whose place is 0. */
  const answer = (i: number, ...remaining: number[]): void => connection.sent[i].resolve(verdicts(remaining))
  const answerNode = (i: number, places: number[], ...remaining: number[]): void =>
    connection.sent[i].resolve(Buffer.concat([Buffer.from(places), verdicts(remaining)]))
  const fail = (i: number, error: Error): void => connection.sent[i].reject(error)
  return { connection, places, received, ask, sent, answer, answerNode, fail }
}

function verdicts(remaining: readonly number[]): Buffer {
  const reply = Buffer.alloc(VERDICT_BYTES * remaining.length)
  remaining.forEach((count, i) => {
    reply.writeUInt32LE(count, VERDICT_BYTES * i + 1)
  })
  return reply
}

const keysIn = (args: Args): string[] =>
  args.filter((arg) => typeof arg === 'string' && arg.startsWith('{')).map((key) => String(key).split('0|')[0])

const turn = () => vi.advanceTimersByTimeAsync(0)

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

describe('decisions of one turn on a cluster', () => {
  it('leave immediately where they are all that goes to a node, and together where they are calls for its partitions', async () => {
    const { connection, places, ask } = bench()
    const answers = [ask('{a}1'), ask('{b}1'), ask('{x}1')]
    await turn()
    expect(connection.sent.map(({ isPrompt }) => isPrompt)).toEqual([true, true])
    delete places['{a}']
    delete places['{b}']
    answers.push(ask('{a}2'), ask('{b}2'))
    await turn()
    expect(connection.sent.slice(2).map(({ isPrompt }) => isPrompt)).toEqual([false, false])
    await vi.advanceTimersByTimeAsync(10)
    await Promise.all(answers)
  })

  it('are one call for each node, in a section for each partition, and get their own answers', async () => {
    const { connection, ask, sent, answer, answerNode, received } = bench()
    const answers = Promise.all(['{a}1', '{b}1', '{x}1', '{a}2'].map((key) => ask(key)))
    await turn()
    expect(sent()).toEqual(['one: {a}1 {a}2 {b}1', '{x}10|s1m: {x}1'])
    expect(connection.sent.map(({ args }) => args.slice(0, 3))).toEqual([
      ['FCALL', BY_NODE, '0'],
      ['FCALL', ALONE, '1'],
    ])
    expect(connection.sent[0].args.at(-1)).toEqual(Buffer.from([2, 0, 2, 0, 1, 0, 1, 0]))
    answerNode(0, [1, 1], 11, 12, 21)
    answer(1, 31)
    expect(await answers).toEqual(['11 left', '21 left', '31 left', '12 left'])
    expect(received).toEqual(['one 3 ok', 'other 1 ok'])
  })

  it('of one partition declare their keys', async () => {
    const { connection, ask, answer } = bench()
    const answers = Promise.all([ask('{a}1'), ask('{a}2')])
    await turn()
    expect(connection.sent.map(({ args }) => args.slice(0, 3))).toEqual([['FCALL', ALONE, '2']])
    answer(0, 5, 6)
    expect(await answers).toEqual(['5 left', '6 left'])
  })

  it('go to their partitions where no one is known to serve them', async () => {
    const { ask, sent, places } = bench()
    delete places['{a}']
    delete places['{b}']
    void ask('{a}1')
    void ask('{b}1')
    await turn()
    expect(sent()).toEqual(['{a}10|s1m: {a}1', '{b}10|s1m: {b}1'])
  })

  it('go to where their partition is when they leave, not when they came', async () => {
    const { ask, sent, places } = bench()
    for (const key of ['{a}1', '{b}1', '{c}1']) void ask(key)
    places['{c}'] = 'other'
    await turn()
    expect(sent()).toEqual(['{c}10|s1m: {c}1', 'one: {a}1 {b}1'])
  })
})

describe('what a node leaves alone', () => {
  it('continues as a call for its partition, and counts there', async () => {
    const { ask, sent, answer, answerNode, received } = bench()
    const answers = Promise.all(['{a}1', '{b}1', '{b}2', '{c}1'].map((key) => ask(key)))
    await turn()
    answerNode(0, [1, 0, 1], 1, 4)
    expect(sent().slice(1)).toEqual(['{b}10|s1m: {b}1 {b}2'])
    answer(1, 2, 3)
    expect(await answers).toEqual(['1 left', '2 left', '3 left', '4 left'])
    expect(received).toEqual(['one 2 ok', 'one 2 ok'])
  })

  it('is not sent on when its time is up: the policy has decided already', async () => {
    const { ask, sent, answerNode } = bench()
    const answers = Promise.all([ask('{a}1', { timeoutMs: 50 }), ask('{b}1'), ask('{b}2', { timeoutMs: 50 })])
    await turn()
    await vi.advanceTimersByTimeAsync(10)
    answerNode(0, [0, 0])
    expect(sent().slice(1)).toEqual(['{a}10|s1m: {a}1', '{b}20|s1m: {b}2'])
    await vi.advanceTimersByTimeAsync(50)
    expect(await answers).toEqual(['timeout', 'timeout', 'timeout'])
  })
})

describe('a call for a node that was not run', () => {
  it.each([
    ['the node is a replica', new SimpleError('READONLY Can not run script with write flag on readonly replica')],
    ['the node may not answer', new SimpleError('MASTERDOWN Link with MASTER is down')],
  ])('continues as calls for partitions, because %s', async (_, error) => {
    const { ask, sent, answer, fail, received, connection } = bench()
    const answers = Promise.all(['{a}1', '{b}1', '{a}2'].map((key) => ask(key)))
    await turn()
    fail(0, error)
    expect(sent().slice(1)).toEqual(['{a}10|s1m: {a}1 {a}2', '{b}10|s1m: {b}1'])
    answer(1, 1, 2)
    answer(2, 3)
    expect(await answers).toEqual(['1 left', '3 left', '2 left'])
    expect(received).toEqual(['one 2 ok', 'one 1 ok'])
    expect(connection.resets).toEqual([])
  })

  it('is not tried again where the node does not take the function', async () => {
    const { connection, ask, sent, fail } = bench()
    void ask('{a}1')
    void ask('{b}1')
    await turn()
    fail(0, new SimpleError('ERR Function not found'))
    expect(connection.sent[1].args.slice(0, 2)).toEqual(['FUNCTION', 'LOAD'])
    fail(1, new SimpleError('ERR unknown flag given'))
    fail(2, new SimpleError('ERR Function not found'))
    expect(sent().slice(3)).toEqual(['{a}10|s1m: {a}1', '{b}10|s1m: {b}1'])
    // Functions without the flag may be there all the same.
    expect(connection.sent[3].args[0]).toBe('FCALL')
    void ask('{a}2')
    void ask('{b}2')
    await turn()
    expect(sent().slice(5)).toEqual(['{a}20|s1m: {a}2', '{b}20|s1m: {b}2'])
  })

  it.each([
    ['', Buffer.alloc(0)],
    ['of places that are none', Buffer.concat([Buffer.from([2, 1]), verdicts([1])])],
    ['of too few verdicts', Buffer.concat([Buffer.from([1, 1]), verdicts([1])])],
    ['of too many verdicts', Buffer.concat([Buffer.from([1, 0]), verdicts([1, 2])])],
    ['that is no bytes', 7],
  ])('is not known after a reply %s: nothing is sent again', async (_, reply) => {
    const { connection, ask, sent } = bench()
    const answers = Promise.all([ask('{a}1'), ask('{b}1')])
    await turn()
    connection.sent[0].resolve(reply)
    expect(await answers).toEqual(['broken', 'broken'])
    expect(sent()).toHaveLength(1)
  })

  it('is not sent again when the connection broke', async () => {
    const { ask, sent, fail } = bench()
    const answers = Promise.all([ask('{a}1'), ask('{b}1')])
    await turn()
    fail(0, new Error('the connection was lost'))
    expect(await answers).toEqual(['broken', 'broken'])
    expect(sent()).toHaveLength(1)
  })
})

describe('keys on both sides of a moving slot (TRYAGAIN)', () => {
  it('are asked for one by one, so that only a group whose own keys are apart has to wait', async () => {
    const { ask, sent, answer, fail, received } = bench()
    const answers = Promise.all([ask('{a}1'), ask('{a}2'), ask('{a}3', { keys: 2 })])
    await turn()
    fail(0, TRYAGAIN)
    expect(sent().slice(1)).toEqual(['{a}10|s1m: {a}1', '{a}20|s1m: {a}2'])
    answer(1, 1)
    expect(sent().slice(3)).toEqual(['{a}30|s1m: {a}3 {a}31|s1m'])
    answer(2, 2)
    fail(3, TRYAGAIN)
    await vi.advanceTimersByTimeAsync(1)
    expect(sent().slice(4)).toEqual(['{a}30|s1m: {a}3 {a}31|s1m'])
    answer(4, 3, 3)
    expect(await answers).toEqual(['1 left', '2 left', '3 left'])
    expect(received).toEqual(['one 1 ok', 'one 1 ok', 'one 1 ok'])
  })

  it('are asked for one by one also after a node has left them alone', async () => {
    const { ask, sent, answer, answerNode, fail } = bench()
    const answers = Promise.all([ask('{a}1'), ask('{b}1'), ask('{b}2')])
    await turn()
    answerNode(0, [1, 0], 1)
    fail(1, TRYAGAIN)
    expect(sent().slice(1)).toEqual(['{b}10|s1m: {b}1 {b}2', '{b}10|s1m: {b}1', '{b}20|s1m: {b}2'])
    answer(2, 2)
    answer(3, 3)
    expect(await answers).toEqual(['1 left', '2 left', '3 left'])
  })

  it('do not hold up the other partitions of their node', async () => {
    const { ask, sent, fail } = bench()
    for (const key of ['{a}1', '{a}2']) {
      void ask(key, { keys: 2, timeoutMs: 1_000 })
      await turn()
    }
    fail(0, TRYAGAIN)
    fail(1, TRYAGAIN)
    fail(2, TRYAGAIN)
    fail(3, TRYAGAIN)
    void ask('{b}1')
    void ask('{c}1')
    await turn()
    expect(sent().at(-1)).toBe('one: {b}1 {c}1')
  })
})
