import { randomBytes } from 'node:crypto'
import { createClient, RESP_TYPES } from '@redis/client'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { jumpySchedules, KIND_NAMES, KINDS, play } from '../../src/core/algorithms/arbitraries.suite.ts'
import type { Schedule } from '../../src/core/algorithms/schedule.suite.ts'
import { compileLimit, type LimitOptions } from '../../src/core/limit.ts'
import { LimitTexts } from '../../src/stores/redis/formats/limit-texts.ts'
import {
  decideFormat,
  decodeVerdicts,
  encodeGroups,
  encodeSections,
  type Group,
} from '../../src/stores/redis/formats/wire-format.ts'
import { NEW_SEEDS } from '../seeds/seeds.ts'
import { sharedRedis } from '../servers/shared.ts'

const SEQUENCES = 30
const AS_BUFFERS = { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } }
const { script, byNode } = decideFormat
const prefix = `node:${randomBytes(6).toString('hex')}`
let client: Awaited<ReturnType<typeof connect>>
let sequences = 0

async function connect() {
  const { url } = await sharedRedis()
  return await createClient({ url, RESP: 2, commandOptions: { timeout: 60_000 } })
    .on('error', () => {})
    .connect()
}

beforeAll(async () => {
  client = await connect()
  for (const each of [script, byNode?.script])
    await client.sendCommand(['FUNCTION', 'LOAD', 'REPLACE', String(each?.asFunction?.library)])
})
afterAll(() => client.destroy())

/** Few enough for the tables of the call before, and too many. */
const PARTITIONS = [3, 20]

/** Sends groups of one partition, and spread the same groups of several partitions in one call. */
async function together(groups: readonly Group[], nowMs: number): Promise<unknown> {
  const { keys, args } = encodeGroups(groups, new LimitTexts(() => nowMs), nowMs)
  const command = ['FCALL', String(script.asFunction?.name), String(keys.length), ...keys, ...args]
  return decodeVerdicts(await client.sendCommand(command, AS_BUFFERS), groups)
}

async function spread(sections: readonly (readonly Group[])[], nowMs: number): Promise<unknown[]> {
  const { args } = encodeSections(sections, new LimitTexts(() => nowMs), nowMs)
  const command = ['FCALL', String(byNode?.script.asFunction?.name), '0', ...args]
  const reply = (await client.sendCommand(command, AS_BUFFERS)) as unknown as Buffer
  expect([...reply.subarray(0, sections.length)]).toEqual(sections.map(() => 1))
  const verdicts = decodeVerdicts(reply.subarray(sections.length), sections.flat()) ?? []
  return sections.map((groups, i) => verdicts.slice(i * groups.length, (i + 1) * groups.length))
}

/** Plays a schedule on a counter alone, and on one in each of several partitions, and compares all verdicts. */
async function check(options: LimitOptions, schedule: Schedule): Promise<void> {
  const limit = compileLimit(options)
  const moves = [...play(limit, schedule)]
  const name = `${prefix}:${sequences++}`
  const partitions = Array.from({ length: PARTITIONS[sequences % 2] }, (_, i) => `{${i}}${name}`)
  const isPlaces = limit.algorithm === 'concurrency'
  for (let from = 0; from < moves.length; ) {
    const { nowMs } = moves[from]
    let to = from
    while (to < moves.length && moves[to].nowMs === nowMs) to++
    const ids = moves.map(() => (isPlaces ? randomBytes(8) : undefined))
    // Every other group asks two counters.
    const groupsOf = (key: string): Group[] =>
      moves.slice(from, to).map(({ cost }, i) => ({
        charges: [key, `${key}:too`].slice(i % 2).map((each) => ({ key: each, limit, cost, enforce: true })),
        permits: ids[i],
      }))
    const expected = await together(groupsOf(name), nowMs)
    expect(await spread(partitions.map(groupsOf), nowMs)).toEqual(partitions.map(() => expected))
    from = to
  }
}

describe('a call for a node decides every partition as a call for it does', () => {
  const seeds = [1, 2, ...NEW_SEEDS]
  it.each(KIND_NAMES.flatMap((kind) => seeds.map((seed) => ({ kind, seed }))))(
    '$kind, seed $seed',
    async ({ kind, seed }) => {
      const samples = fc.sample(fc.tuple(KINDS[kind], jumpySchedules), { seed, numRuns: SEQUENCES })
      for (const [options, schedule] of samples) await check(options, schedule)
    },
  )
})
