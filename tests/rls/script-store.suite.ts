import { randomBytes } from 'node:crypto'
import { createClient, RESP_TYPES } from '@redis/client'
import type { Verdict } from '../../src/core/decision.ts'
import type { Store } from '../../src/engine/ports.ts'
import { LimitTexts } from '../../src/stores/redis/formats/limit-texts.ts'
import { decodeVerdicts, encodeGroups } from '../../src/stores/redis/formats/wire-format.ts'
import { loadScript } from '../../src/stores/redis/scripts/scripts.ts'
import { sharedRedis } from '../servers/shared.ts'

/** A store on a real Redis whose clock stands still. It decides, and does nothing else. */
export async function openScriptStore(nowMs: number): Promise<Store> {
  const { url } = await sharedRedis()
  const client = await createClient({ url, RESP: 2 })
    .on('error', () => {})
    .connect()
  const script = loadScript('decide')
  await client.sendCommand(['SCRIPT', 'LOAD', script.source])
  const prefix = `script-store:${randomBytes(6).toString('hex')}`
  const decide: Store['decide'] = async (charges): Promise<readonly Verdict[]> => {
    const own = charges.map((charge) => ({ ...charge, key: `${prefix}:${charge.key}` }))
    const groups = [{ charges: own, permits: undefined }]
    const { keys, args } = encodeGroups(groups, new LimitTexts(() => nowMs), nowMs)
    const command = ['EVALSHA', script.sha, String(keys.length), ...keys, ...args]
    const reply = await client.sendCommand(command, { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } })
    return decodeVerdicts(reply, groups)?.[0] ?? []
  }
  const not = () => {
    throw new Error('this store only decides')
  }
  return { decide, acquire: not, release: not, renew: not, reset: not, close: () => client.destroy() }
}
