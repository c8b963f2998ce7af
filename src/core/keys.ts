import type { Limit } from './limit.ts'
import type { Entry } from './request.ts'

/**
 * Formats the key of a counter; the only place that does: `domain|rule|key=value|…`. Separators inside a part are
 * escaped, so that no two counters share a key, whatever callers put into their values. So is a surrogate without its
 * other half: in UTF-8 all of them would be the same three bytes.
 */
export function counterKey(domain: string, ruleId: string, entries: readonly Entry[]): string {
  let key = `${escapePart(domain)}|${escapePart(ruleId)}`
  for (let i = 0; i < entries.length; i++) key += `|${escapePart(entries[i].key)}=${escapePart(entries[i].value)}`
  return key
}

/**
 * Formats a counter's key for a store that others can read: with the limit's shape, so that counters of different
 * algorithms and windows are different counters, as in `sluice:{17}:api|user|user=42|s1m`.
 */
export function storedKey(key: string, limit: Pick<Limit, 'shape'>): string {
  return `${key}|${limit.shape}`
}

/** Undoes storedKey: the counter's key, and the shape of its limit. */
export function splitStoredKey(stored: string): { readonly key: string; readonly shape: string } {
  const at = stored.lastIndexOf('|')
  return at < 0 ? { key: stored, shape: '' } : { key: stored.slice(0, at), shape: stored.slice(at + 1) }
}

/** Formats a domain as keys contain it. */
export function domainPart(domain: string): string {
  return escapePart(domain)
}

/** Whether a key of a shared store belongs to a domain, which is given as keys contain it. */
export function isOfDomain(key: string, domain: string): boolean {
  return key.startsWith(`${domain}|`, key.indexOf('}:') + 2)
}

const FIRST_SURROGATE = 0xd800
const SECOND_HALVES = 0xdc00
const LAST_SURROGATE = 0xdfff
/** By code, 1 for what needs escaping: separators and control characters. A table, because every decision asks it. */
const SPECIAL = Uint8Array.from({ length: 0x80 }, (_, code) =>
  code < 0x20 || code === 0x7f || '%|={}'.includes(String.fromCharCode(code)) ? 1 : 0,
)

/** Returns text as it is when nothing in it needs escaping, which is nearly always. */
function escapePart(text: string): string {
  for (let i = 0; i < text.length; i++) {
    if (needsEscape(text, i)) return escapeFrom(text, i)
  }
  return text
}

function escapeFrom(text: string, start: number): string {
  let escaped = ''
  let copied = 0
  for (let i = start; i < text.length; i++) {
    if (!needsEscape(text, i)) continue
    escaped += `${text.slice(copied, i)}%${text.charCodeAt(i).toString(16).padStart(2, '0')}`
    copied = i + 1
  }
  return escaped + text.slice(copied)
}

function needsEscape(text: string, i: number): boolean {
  const code = text.charCodeAt(i)
  if (code < SPECIAL.length) return SPECIAL[code] === 1
  return code >= FIRST_SURROGATE && code <= LAST_SURROGATE && isLoneSurrogate(text, i)
}

function isLoneSurrogate(text: string, i: number): boolean {
  if (isFirstHalf(text.charCodeAt(i))) return !isSecondHalf(text.charCodeAt(i + 1))
  return !isFirstHalf(text.charCodeAt(i - 1))
}

const isFirstHalf = (code: number): boolean => code >= FIRST_SURROGATE && code < SECOND_HALVES
const isSecondHalf = (code: number): boolean => code >= SECOND_HALVES && code <= LAST_SURROGATE
