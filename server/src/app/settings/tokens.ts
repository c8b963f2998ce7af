import { SluiceError } from 'sluice/internal/core/errors'
import type { Given } from './setting-values.ts'

// The characters of a Bearer token (RFC 6750, 2.1). A short one can be guessed.
const TOKEN = /^[-._~+/0-9A-Za-z]+=*$/
const FEWEST = 16
const MOST = 1024

/** tokensOf reads the tokens of callers: several, while one takes the place of another. Errors do not show them. */
export function tokensOf(given: Given | undefined): string[] {
  if (given === undefined) return []
  const tokens = given.values.flatMap((list) => list.split(',')).map((token) => token.trim())
  for (const token of tokens) {
    const wrong = wrongWith(token)
    if (wrong !== undefined) throw new SluiceError('TOKEN_INVALID', given.where, wrong)
  }
  return tokens
}

function wrongWith(token: string): string | undefined {
  if (token.length < FEWEST || token.length > MOST) return `one has ${token.length} characters`
  return TOKEN.test(token) ? undefined : 'one has characters that no token may have'
}
