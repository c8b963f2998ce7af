/** What tokens of the admin API may do: viewers look, operators help customers, admins change rules, tiers and tokens. */
export type Role = 'viewer' | 'operator' | 'admin'

/** An AdminToken is a token of the admin API as it is kept: never the token itself. */
export interface AdminToken {
  readonly id: string
  readonly name: string
  readonly role: Role
  /** SHA-256 of the token, in hex. */
  readonly hash: string
  /** The first characters of the token, for people. */
  readonly prefix: string
  readonly createdAtMs: number
  readonly expiresAtMs: number | undefined
  readonly revokedAtMs: number | undefined
  readonly lastUsedAtMs: number | undefined
}
