import { SluiceError } from 'sluice/internal/core/errors'
import type { Role } from '../tokens/table.ts'

/** From what a person may who only looks, to what they may who may do everything. */
const RANKS: readonly Role[] = ['viewer', 'operator', 'admin']

/** An Identity is who asks, and by what right. */
export interface Identity {
  /** The id of the token; `loopback` for a program on this machine that has none. */
  readonly id: string
  readonly name: string
  readonly role: Role
  readonly via: 'token' | 'session' | 'loopback'
}

/** covers says whether a role may do what another may. */
export function covers(role: Role, needed: Role): boolean {
  if (role === 'ledger' || needed === 'ledger') return role === needed || (needed === 'ledger' && role !== 'viewer')
  return RANKS.indexOf(role) >= RANKS.indexOf(needed)
}

/** Throws when the role of a caller does not cover the operation. */
export function requireRole({ role }: Identity, needed: Role): void {
  if (!covers(role, needed)) throw new SluiceError('ROLE_INSUFFICIENT', 'role', `this needs ${needed}, got ${role}`)
}
