import type { KnownBlock } from 'sluice/internal/engine/quotas'
import type { Block } from '../model.ts'

/** A BlockRecord is what decisions need of a block. */
export class BlockRecord implements KnownBlock {
  readonly id: string
  readonly who: string
  readonly subject: Block['subject']
  readonly reason: string | undefined
  readonly status: number
  readonly body: string | undefined
  readonly effectiveAtMs: number
  /** Infinity: without end. */
  readonly expiresAtMs: number

  constructor({ id, subject, reason, status, body, effectiveAtMs, expiresAtMs }: Block) {
    this.id = id
    this.who = whoIs(subject)
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

function whoIs(subject: Block['subject']): string {
  if (subject.kind === 'cidr') return `address=${subject.cidr}`
  return subject.kind === 'key' ? `api_key_id=${subject.keyId}` : `customer_id=${subject.customerId}`
}

/** Makes the block of a suspended customer. */
export function suspensionOf(customerId: string): KnownBlock {
  const who = whoIs({ kind: 'customer', customerId })
  return Object.freeze({ id: 'suspended', who, reason: 'the customer is suspended', status: 403, body: undefined })
}
