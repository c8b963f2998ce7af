import { SluiceError } from 'sluice/internal/core/errors'
import type { Role } from '../../admin/tokens/table.ts'
import type { Given } from './setting-values.ts'

// The characters of a Bearer token (RFC 6750, 2.1). A short one can be guessed.
const TOKEN = /^[-._~+/0-9A-Za-z]+=*$/
const FEWEST = 16
const MOST = 1024

/** Reads the tokens of callers: several during a rotation. Errors do not show them. */
export function tokensOf(given: Given | undefined): string[] {
  if (given === undefined) return []
  const tokens = given.values.flatMap((list) => list.split(',')).map((token) => token.trim())
  for (const token of tokens) {
    const wrong = wrongWith(token)
    if (wrong !== undefined) throw new SluiceError('TOKEN_INVALID', given.where, wrong)
  }
  return tokens
}

/** A configured token of the admin API, and its role. */
export interface AdminTokenSetting {
  readonly role: Role
  readonly token: string
}

const ROLES: readonly string[] = ['viewer', 'operator', 'admin', 'ledger'] satisfies readonly Role[]

/** Reads the tokens of the admin API: `TOKEN` for an admin, or `ROLE:TOKEN`. Errors do not show them. */
export function adminTokensOf(given: Given | undefined): AdminTokenSetting[] {
  if (given === undefined) return []
  const parts = given.values.flatMap((list) => list.split(',')).map((each) => each.trim().split(':'))
  return parts.map((part) => {
    const [role, token] = part.length === 1 ? ['admin', part[0]] : part
    if (part.length > 2 || !ROLES.includes(role)) {
      throw new SluiceError('ADMIN_TOKEN_INVALID', given.where, 'a token has an unknown role')
    }
    const wrong = wrongWith(token)
    if (wrong !== undefined) throw new SluiceError('TOKEN_INVALID', given.where, wrong)
    return { role: role as Role, token }
  })
}

function wrongWith(token: string): string | undefined {
  if (token.length < FEWEST || token.length > MOST) return `one has ${token.length} characters`
  return TOKEN.test(token) ? undefined : 'one has characters that no token may have'
}
