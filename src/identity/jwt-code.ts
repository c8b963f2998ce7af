import type { TokenVerifier } from './claims.ts'
import { type JwtOptions, jwtVerifier } from './jwt-verifier.ts'

/** Makes a verifier of tokens. In the packed library, jwt-code.packed.ts takes the place of this file. */
export function verifierOf(options: JwtOptions): TokenVerifier {
  return jwtVerifier(options)
}
