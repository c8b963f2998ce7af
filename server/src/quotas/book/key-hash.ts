import { createHmac } from 'node:crypto'
import type { KeyHash } from './key-finder.ts'

/** keyHashOf is HMAC-SHA256 under a secret, in hex. */
export function keyHashOf(secret: string): KeyHash {
  return (key) => createHmac('sha256', secret).update(key).digest('hex')
}
