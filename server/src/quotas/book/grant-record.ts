import type { KnownGrant } from 'sluice/internal/engine/quotas'
import type { Grant } from '../model.ts'
import { pathOf } from './override-record.ts'

/** A GrantRecord is what decisions need of a grant. */
export class GrantRecord implements KnownGrant {
  readonly id: string
  readonly path: string
  readonly amount: number
  readonly namesRule = false
  readonly effectiveAtMs: number
  /** Infinity: without end. */
  readonly expiresAtMs: number

  constructor({ id, descriptor, amount, effectiveAtMs, expiresAtMs }: Grant) {
    this.id = id
    this.path = pathOf(descriptor)
    this.amount = amount
    this.effectiveAtMs = effectiveAtMs
    this.expiresAtMs = expiresAtMs ?? Number.POSITIVE_INFINITY
  }

  isFor(path: string, nowMs: number): boolean {
    return this.path === path && this.effectiveAtMs <= nowMs && nowMs < this.expiresAtMs
  }
}

/** Orders grants: the first to end comes first, then the first to begin. */
export function byEnd(a: GrantRecord, b: GrantRecord): number {
  if (a.expiresAtMs !== b.expiresAtMs) return a.expiresAtMs < b.expiresAtMs ? -1 : 1
  return a.effectiveAtMs - b.effectiveAtMs || (a.id < b.id ? -1 : 1)
}
