import { KeyedHash } from '../hash.ts'
import type { RuleFile } from './schema.ts'

const DIGITS = 12
const AT_ONCE = 65_536

/**
 * Names the content of rule files by 12 hexadecimal digits: the same on every node and in every process that has the
 * same rules in the same order, whatever the files are called, and whatever comments and spaces they have.
 */
export function rulesVersion(files: readonly RuleFile[]): string {
  // The key is not secret: giving two sets of rules the same version gains nothing.
  const hash = new KeyedHash(0, 0)
  for (const file of files) {
    const text = JSON.stringify(file)
    for (let at = 0; at < text.length; at += AT_ONCE) hash.of(text.slice(at, at + AT_ONCE), hash.low, hash.high)
  }
  return (hex(hash.high) + hex(hash.low)).slice(0, DIGITS)
}

function hex(word: number): string {
  return (word >>> 0).toString(16).padStart(8, '0')
}
