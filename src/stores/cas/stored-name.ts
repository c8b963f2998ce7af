import { createHash } from 'node:crypto'

const SPACE = 0x20
const DEL = 0x7f

/**
 * Returns the name of a counter for engines whose names are short and plain: itself, or, if it is too long or has other
 * than visible ASCII characters, its SHA-256. No caller's key looks like one: those have a `|`.
 */
export function storedName(name: string, maxBytes: number): string {
  return name.length <= maxBytes && isPlain(name) ? name : `#${createHash('sha256').update(name).digest('base64url')}`
}

function isPlain(name: string): boolean {
  for (let i = 0; i < name.length; i++) {
    const code = name.charCodeAt(i)
    if (code <= SPACE || code >= DEL) return false
  }
  return true
}
