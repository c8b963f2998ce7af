import type { Claims, TokenVerifier } from '../identity/claims.ts'
import { type JsonWebKeySet, type JwtOptions, jwtVerifier } from '../identity/jwt-verifier.ts'

export { SluiceError } from '../core/errors.ts'
export type { Claims, JsonWebKeySet, JwtOptions, TokenVerifier }

/**
 * Makes a verifier of tokens with the code for it, which bundlers follow. Where nothing is bundled, its options alone
 * do the same.
 *
 *   rateLimit({ limit: 100, window: '1m', by: 'user', identity: { jwt: jwt({ secret }) } })
 */
export function jwt(options: JwtOptions): TokenVerifier {
  return jwtVerifier(options)
}
