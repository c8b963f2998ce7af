import { randomUUID } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import { charge, TEN } from '../../src/stores/suite/subject.suite.ts'
import { slotOf } from '../servers/slots.mjs'
import { until } from '../servers/until.mjs'
import { type Answer, type FakeNode, slotsReply, startNodes } from './fake-node.suite.ts'
import { connectStore, keyOf, PARTITIONS, reasonOf, type WatchedStore } from './partitions.suite.ts'

/** Tells the map, and answers scripts as it is told. */
const answering =
  (map: () => string, script: (slot: number) => string): Answer =>
  ([name, ...words]) => {
    if (name === 'PING') return '+PONG\r\n'
    if (name === 'CLUSTER') return map()
    return name === 'EVALSHA' ? script(slotOf(words[2])) : '-ERR unknown command\r\n'
  }

async function connect(nodes: readonly FakeNode[]): Promise<WatchedStore> {
  const watched = await connectStore(`redis+cluster://${nodes[0].address}`, nodes.length)
  onTestFinished(() => watched.store.close())
  return watched
}

/** A charge in the second half of the slots, which belong to the second of two nodes. */
const second = PARTITIONS.find((partition) => slotOf(`{${partition}}`) >= 8_192) as number
const fresh = () => charge(keyOf(second, randomUUID()), TEN.gcra, 1)

describe('two nodes that send a call to each other', () => {
  it.each(['MOVED', 'ASK'])('for ever (%s) are asked five times in all, and then no more', async (word) => {
    const [one, two] = await startNodes(2)
    const map = () => slotsReply([one, two])
    one.answer = answering(map, (slot) => `-${word} ${slot} ${two.address}\r\n`)
    two.answer = answering(map, (slot) => `-${word} ${slot} ${one.address}\r\n`)
    const { store } = await connect([one, two])
    expect(await reasonOf(store, fresh())).toBe('broken')
    expect([two.received('EVALSHA'), one.received('EVALSHA')]).toEqual([3, 2])
  })
})

describe('a node that serves no slots any more', () => {
  it('is left, and its connection closed', async () => {
    const [one, two] = await startNodes(2)
    let masters = [one, two]
    const map = () => slotsReply(masters)
    one.answer = answering(map, () => '-ERR later\r\n')
    two.answer = answering(map, (slot) => `-MOVED ${slot} ${one.address}\r\n`)
    const watched = await connect([one, two])
    await until('the map has been read', () => two.sockets.size === 1)
    masters = [one]
    await reasonOf(watched.store, fresh())
    await until('it is left', () => !watched.connected.has(two.address))
    await until('its connection is closed', () => two.sockets.size === 0)
    expect(watched.connected).toEqual(new Set([one.address]))
    expect(watched.retired).toEqual(new Set([two.address]))
    await until('the other has one connection', () => one.sockets.size === 1)
  })
})
