import type { Token } from '../../api/operations.ts'

/** stateOf says whether a token still opens anything. */
export function stateOf({ revoked_at, expires_at }: Token, nowMs = Date.now()): 'good' | 'expired' | 'revoked' {
  if (revoked_at !== null) return 'revoked'
  return expires_at !== null && Date.parse(expires_at) <= nowMs ? 'expired' : 'good'
}

/** inOrder sorts valid tokens first, the newest of each before the others. */
export function inOrder(tokens: readonly Token[], nowMs = Date.now()): readonly Token[] {
  const rank = (token: Token): number => Number(stateOf(token, nowMs) !== 'good')
  return tokens.toSorted((a, b) => rank(a) - rank(b) || Date.parse(b.created_at) - Date.parse(a.created_at))
}

/** isLastAdmin is true if no other valid token may create tokens. */
export function isLastAdmin(token: Token, all: readonly Token[], nowMs = Date.now()): boolean {
  const admins = all.filter((each) => each.role === 'admin' && stateOf(each, nowMs) === 'good')
  return admins.length === 1 && admins[0].id === token.id
}
