import { SluiceError } from './errors.ts'

export const KEY_FORMS = ['readable', 'compact'] as const

/** How counters are named in Redis: by keys that people can read, or by short hashes of them. */
export type KeyForm = (typeof KEY_FORMS)[number]

/**
 * Requires a secret for compact keys. If anyone can compute the hash, a caller could search for a name that shares
 * another caller's counter.
 */
export function checkCompact(form: KeyForm | undefined, secret: string | undefined, where: string): void {
  if (form === 'compact' && (secret ?? '') === '')
    throw new SluiceError('COMPACT_KEYS_NEED_SECRET', where, 'no secret is set')
}
