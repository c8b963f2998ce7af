import { KeyedHash } from '../hash.ts'

/** The longest name that a rule's author can give. Only the paths of rules without a name are longer. */
const MAX_NAME_CHARACTERS = 128
const CUT_CHARACTERS = 96

/**
 * Encodes a rule's name so that every field can hold it in quotes: printable ASCII as it is, but `"`, `\`, `%` and all
 * else percent-encoded as UTF-8. No two names become the same text, and `decodeURIComponent` returns the name. One of
 * more than 128 characters is cut, with a hash of the whole. Fields and bodies name a rule the same way.
 */
export function plainName(name: string): string {
  if (name.length > MAX_NAME_CHARACTERS) return cut(name)
  for (let i = 0; i < name.length; i++) if (!isPlain(name.charCodeAt(i))) return escaped(name)
  return name
}

function cut(name: string): string {
  const hash = new KeyedHash(0, 0)
  hash.of(name, 0)
  return `${escaped(name.slice(0, CUT_CHARACTERS))}~${hex(hash.high)}${hex(hash.low)}`
}

const hex = (word: number): string => (word >>> 0).toString(16).padStart(8, '0')

function escaped(name: string): string {
  let out = ''
  for (const character of name) out += isPlain(character.charCodeAt(0)) ? character : escapeOf(character)
  return out
}

/** Returns the escape of a character. Half of a surrogate pair has no UTF-8: `%u` begins nothing else. */
function escapeOf(character: string): string {
  const isHalf = character.length === 1 && (character.charCodeAt(0) & 0xf800) === 0xd800
  return isHalf ? `%u${character.charCodeAt(0).toString(16)}` : encodeURIComponent(character)
}

/** Says whether a character is printable ASCII that needs no escape: neither `"` nor `%` nor `\`. */
function isPlain(code: number): boolean {
  return code >= 0x20 && code <= 0x7e && code !== 0x22 && code !== 0x25 && code !== 0x5c
}
