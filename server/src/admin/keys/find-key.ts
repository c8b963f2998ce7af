import { randomUUID } from 'node:crypto'
import { SluiceError } from 'sluice/internal/core/errors'
import type { ApiKey } from '../../quotas/model.ts'
import { type AdminParts, API_KEYS, RECORDS } from '../api/parts.ts'

interface HasParts {
  readonly parts: AdminParts
}

/** Resolves with the record of an API key that is in use. */
export async function keyInUse({ parts }: HasParts, apiKey: string): Promise<ApiKey | undefined> {
  const hash = parts.get(API_KEYS).hash(apiKey)
  const { items } = await parts.get(RECORDS).list('api_keys', { where: { hash }, limit: 1 })
  return items.find(({ revokedAtMs }) => revokedAtMs === undefined)
}

/** Resolves as keyInUse does, or throws RECORD_UNKNOWN: `where` is what the caller asked for. */
export async function findKey(call: HasParts, apiKey: string, where: string): Promise<ApiKey> {
  const found = await keyInUse(call, apiKey)
  if (found === undefined) throw new SluiceError('RECORD_UNKNOWN', where, 'no customer has this key')
  return found
}

const SHOWN_CHARACTERS = 8

/** Returns what people see of a key. Of a short one it is less, so that the rest cannot be guessed. */
function shownPrefix(apiKey: string): string {
  return apiKey.slice(0, Math.min(SHOWN_CHARACTERS, Math.floor(apiKey.length / 4)))
}

/** Returns what the record of a new key has of the key. */
export function keyFields({ parts }: HasParts, apiKey: string) {
  const prefix = shownPrefix(apiKey)
  return { id: randomUUID(), hash: parts.get(API_KEYS).hash(apiKey), prefix, name: prefix }
}
