import { loadEntry } from '../core/load-entry.ts'
import type { TokenVerifier } from './claims.ts'
import type { JwtOptions } from './jwt-verifier.ts'

/** Makes a verifier of tokens, with code that is loaded where nothing is bundled. */
export function verifierOf(options: JwtOptions): TokenVerifier {
  const { jwt } = loadEntry('sluice/jwt', "import { jwt } from 'sluice/jwt' and pass jwt({ … }) with the same options")
  return (jwt as (options: JwtOptions) => TokenVerifier)(options)
}
