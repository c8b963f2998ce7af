import { SluiceError } from './errors.ts'

export const KEY_FORMS = ['readable', 'compact'] as const

/** A KeyForm is how counters are named in Redis: by keys that people can read, or by short hashes of them. */
export type KeyForm = (typeof KEY_FORMS)[number]

/**
 * checkCompact makes sure that compact keys have a secret. With a hash that everybody can compute, a caller could look for a
 * name that shares the counter of another.
 */
export function checkCompact(form: KeyForm | undefined, secret: string | undefined, where: string): void {
  if (form === 'compact' && (secret ?? '') === '')
    throw new SluiceError('COMPACT_KEYS_NEED_SECRET', where, 'no secret is set')
}
