import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { createClient, RESP_TYPES } from '@redis/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { KeyEncoder } from '../../src/core/key-encoder.ts'
import { storedKey } from '../../src/core/keys.ts'
import { compileLimit, type LimitOptions } from '../../src/core/limit.ts'
import type { Entry } from '../../src/core/request.ts'
import { loadRules } from '../../src/core/rules/load.ts'
import { match } from '../../src/core/rules/match.ts'
import type { Domain } from '../../src/core/rules/rule-set.ts'
import { PARTITIONS, sharedHash } from '../../src/engine/shared-hash.ts'
import { LimitTexts } from '../../src/stores/redis/formats/limit-texts.ts'
import { CompactKeys, readableKeys } from '../../src/stores/redis/formats/stored-keys.ts'
import { decodeVerdicts, encodeGroups, type Group } from '../../src/stores/redis/formats/wire-format.ts'
import { loadScript } from '../../src/stores/redis/scripts/scripts.ts'
import { sharedRedis } from '../servers/shared.ts'

/** A Call is what an old node sent: the names of counters, and the arguments of its script in base64. */
interface Call {
  readonly keys: readonly string[]
  readonly args: readonly string[]
}

/** A Recorded is a node of an earlier version, as tests/upgrades/record.mjs wrote it down. */
interface Recorded {
  readonly secret: string
  readonly nowMs: number
  readonly rules: string
  readonly calls: readonly { options: LimitOptions; compact: boolean; calls: readonly Call[] }[]
  readonly keys: readonly { entries: readonly Entry[]; keys: readonly { readable: string; compact: string }[] }[]
}

const read = (path: string): string => readFileSync(new URL(`../fixtures/upgrades/${path}`, import.meta.url), 'utf8')
const VERSIONS = readdirSync(new URL('../fixtures/upgrades/', import.meta.url)).filter((name) =>
  name.startsWith('node-'),
)

let client: Awaited<ReturnType<typeof connect>>
async function connect() {
  const { url } = await sharedRedis()
  return await createClient({ url, RESP: 2 })
    .on('error', () => {})
    .connect()
}
beforeAll(async () => {
  client = await connect()
})
afterAll(() => client.destroy())

async function evaluate(source: string, keys: readonly string[], args: readonly (string | Buffer)[]): Promise<Buffer> {
  const command = ['EVAL', source, String(keys.length), ...keys, ...args]
  return (await client.sendCommand(command, { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } })) as unknown as Buffer
}

/** What a reply of the script begins with: whether the hit is admitted, and how many are left. */
const readReply = (reply: Buffer) => ({ isAdmitted: reply.readUInt8(0) === 0, remaining: reply.readUInt32LE(1) })

describe.each(VERSIONS)('a node of this version next to %s', (version) => {
  const record = JSON.parse(read(`${version}/record.json`)) as Recorded
  const oldScript = read(`${version}/decide.lua`)
  const hash = () => sharedHash(record.secret)

  it('names every counter as that one does', () => {
    const domain = loadRules([{ file: 'api.yaml', text: record.rules }]).domains.get('api') as Domain
    const encoder = new KeyEncoder(hash(), PARTITIONS)
    const compact = new CompactKeys(hash(), '', false)
    expect(record.keys.length).toBeGreaterThan(3)
    for (const { entries, keys } of record.keys) {
      const encoded = match(domain, entries).map((rule) => storedKey(encoder.encode('api', rule, entries), rule.limit))
      expect(encoded.map((key) => ({ readable: key, compact: compact.of(key) }))).toEqual(keys)
    }
  })

  it.each(
    record.calls.map((each) => [JSON.stringify(each.options), each.compact ? 'compact' : 'readable', each] as const),
  )('counts as one with it: %s, %s keys', async (_, _form, { options, compact, calls }) => {
    const prefix = `upgrade:${randomUUID()}:`
    const sendOld = async ({ keys, args }: Call) => {
      const named = keys.map((key) => prefix + key)
      return readReply(
        await evaluate(
          oldScript,
          named,
          args.map((each) => Buffer.from(each, 'base64')),
        ),
      )
    }
    const sendNew = async () => {
      const names = compact ? new CompactKeys(hash(), '', false) : readableKeys('')
      const permits = options.algorithm === 'concurrency' ? Buffer.from('a-new-id') : undefined
      const charge = { key: 'sluice:{7}:api|limit|user=42', limit: compileLimit(options), cost: 1, enforce: true }
      const group: Group = { charges: [charge], permits }
      const { keys, args } = encodeGroups([group], new LimitTexts(() => record.nowMs, names), record.nowMs)
      expect(keys).toEqual(calls[0].keys)
      const reply = await evaluate(
        loadScript('decide').source,
        keys.map((key) => prefix + key),
        args,
      )
      return decodeVerdicts(reply, [group])?.[0]?.[0]
    }
    const first = await sendOld(calls[0])
    expect(first.isAdmitted).toBe(true)
    expect(await sendNew()).toMatchObject({ kind: 'allowed', remaining: first.remaining - 1 })
    expect(await sendOld(calls[1])).toEqual({ isAdmitted: true, remaining: first.remaining - 2 })
  })
})
