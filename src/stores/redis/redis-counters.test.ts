import { describe, expect, it } from 'vitest'
import { FakeConnection } from './connection/fake-connection.suite.ts'
import { readableKeys } from './formats/stored-keys.ts'
import { RedisCounters } from './redis-counters.ts'
import { ReplyError } from './resp/reply.ts'

/** A reset takes so many counters in one call. */
const MOST = 500

function scene() {
  const connection = new FakeConnection()
  return { connection, counters: new RedisCounters(connection, '', readableKeys('')) }
}

/** Returns the last call of so many, which nothing but other calls has held up. */
async function lastOf({ sent }: FakeConnection, calls: number) {
  await new Promise((resolve) => setImmediate(resolve))
  expect(sent).toHaveLength(calls)
  return sent[calls - 1]
}

describe('a reset of more counters than one call takes', () => {
  const stored = Array.from({ length: MOST + 1 }, (_, i) => `sluice:{1}:d|r|user=${i}|s1m`)

  it('is made in parts, and adds up what was there', async () => {
    const { connection, counters } = scene()
    const report = counters.reset(stored)
    const first = await lastOf(connection, 1)
    // A counter, its book, the head of that, and what nodes report of it, for each.
    expect(first.args[2]).toBe(String(4 * MOST))
    expect(first.args.slice(3, 7)).toEqual(['', '|lent', '|out', '|rate'].map((end) => stored[0] + end))
    first.resolve([400, 1])
    const second = await lastOf(connection, 2)
    expect(second.args.slice(2, 4)).toEqual(['4', stored[MOST]])
    second.resolve([1, 1])
    expect(await report).toEqual({ counters: 401, isPublished: true })
  })

  it.each([
    [0, 1],
    [1, 0],
  ])('is published to all nodes only if each part was: %i, %i', async (first, second) => {
    const { connection, counters } = scene()
    const report = counters.reset(stored)
    for (const [i, received] of [first, second].entries()) (await lastOf(connection, i + 1)).resolve([1, received])
    expect(await report).toEqual({ counters: 2, isPublished: false })
  })
})

describe('a reset of a domain', () => {
  it('goes through all keys of a server, and then notifies', async () => {
    const { connection, counters } = scene()
    const report = counters.resetDomain('d')
    const scan = await lastOf(connection, 1)
    expect(scan.args.slice(0, 2)).toEqual(['SCAN', '0'])
    scan.resolve(['17', ['', '|out', '|rate'].map((end) => `sluice:{1}:d|r|user=1|s1m${end}`)])
    const reset = await lastOf(connection, 2)
    expect(reset.args.slice(2, 4)).toEqual(['4', 'sluice:{1}:d|r|user=1|s1m'])
    reset.resolve([1, 1])
    const further = await lastOf(connection, 3)
    expect(further.args.slice(0, 2)).toEqual(['SCAN', '17'])
    further.resolve(['0', []])
    const notice = await lastOf(connection, 4)
    expect(notice.args).toEqual(['PUBLISH', 'sluice:notices:1', 'dd'])
    notice.resolve(1)
    expect(await report).toEqual({ counters: 1, isPublished: true })
  })

  it.each([
    ['NOPERM this user has no permissions', { counters: 0, isPublished: false }],
    ['OOM command not allowed', undefined],
  ])('that Redis answers with %s is reported', async (message, expected) => {
    const { connection, counters } = scene()
    const report = counters.resetDomain('d')
    const outcome = report.catch(() => undefined)
    ;(await lastOf(connection, 1)).resolve(['0', []])
    ;(await lastOf(connection, 2)).reject(new ReplyError(message))
    expect(await outcome).toEqual(expected)
  })
})
