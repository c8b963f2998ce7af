import type { KnownBlock } from 'sluice/internal/engine/quotas'
import type { Block } from '../model.ts'

/** A BlockRecord is what decisions need of a block. */
export class BlockRecord implements KnownBlock {
  readonly id: string
  readonly subject: Block['subject']
  readonly reason: string | undefined
  readonly status: number
  readonly body: string | undefined
  readonly effectiveAtMs: number
  /** Infinity: without end. */
  readonly expiresAtMs: number

  constructor({ id, subject, reason, status, body, effectiveAtMs, expiresAtMs }: Block) {
    this.id = id
    this.subject = subject
    this.reason = reason
    this.status = status
    this.body = body
    this.effectiveAtMs = effectiveAtMs
    this.expiresAtMs = expiresAtMs ?? Number.POSITIVE_INFINITY
  }

  isInForce(nowMs: number): boolean {
    return this.effectiveAtMs <= nowMs && nowMs < this.expiresAtMs
  }

  endsInMs(nowMs: number): number | undefined {
    return this.expiresAtMs === Number.POSITIVE_INFINITY ? undefined : Math.max(1, Math.ceil(this.expiresAtMs - nowMs))
  }
}

/** SUSPENDED is the block of customers who are suspended. */
export const SUSPENDED: KnownBlock = Object.freeze({
  id: 'suspended',
  reason: 'the customer is suspended',
  status: 403,
  body: undefined,
})
