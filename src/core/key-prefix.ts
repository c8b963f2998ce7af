import { got, SluiceError } from './errors.ts'

const MAX_PREFIX = 100

/**
 * Holds a text before all keys of a shared store to what keys can bear. Braces would choose the server of a cluster for
 * all of them.
 */
export function checkKeyPrefix(prefix: unknown, where: string): string {
  const isText = typeof prefix === 'string' && prefix.length <= MAX_PREFIX
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
  if (!isText || /[{}\u0000-\u001f\u007f\ud800-\udfff]/u.test(prefix))
    throw new SluiceError('KEY_PREFIX_INVALID', where, got(prefix))
  return prefix
}
