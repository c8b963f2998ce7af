import type { Meter } from '../../quotas/model.ts'
import type { Operation } from '../core/account-state.ts'

export type KeptOperation = Extract<Operation, { kind: 'reserve' | 'commit' | 'release' | 'event' }>

/** What the node last saw of an account. */
export interface Seen {
  readonly policy: Meter['whenUnavailable']
  readonly available: number
}

/**
 * An Absence is what this node confirms of one account while the database is unavailable. A meter that buffers gives
 * what the node last saw available, and no more; one that is open gives anything.
 */
export class Absence {
  readonly policy: Seen['policy']
  /** In the journal, and not booked. */
  waiting = 0
  #left: number
  readonly #asked = new Map<string, string>()
  readonly #reserved = new Map<string, number>()

  constructor({ policy, available }: Seen) {
    this.policy = policy
    this.#left = available
  }

  admit(operation: KeptOperation): 'new' | 'repeated' | 'id_reused' | 'short' {
    const before = this.#asked.get(keyOf(operation))
    if (before !== undefined) return before === JSON.stringify(operation) ? 'repeated' : 'id_reused'
    const needed = this.#costOf(operation)
    if (this.policy !== 'open' && needed > this.#left) return 'short'
    this.#left -= needed
    this.note(operation)
    return 'new'
  }

  note(operation: KeptOperation): void {
    this.#asked.set(keyOf(operation), JSON.stringify(operation))
    if (operation.kind === 'reserve') this.#reserved.set(operation.id, operation.amount)
  }

  /** Takes back an operation that the journal did not take. */
  withdraw(operation: KeptOperation): void {
    this.#left += this.#costOf(operation)
    this.#asked.delete(keyOf(operation))
  }

  /** What it takes of the account; less than nothing, where it gives back. */
  #costOf(operation: KeptOperation): number {
    if (operation.kind === 'reserve' || operation.kind === 'event') return operation.amount
    const used = operation.kind === 'commit' ? operation.used : 0
    return used - (this.#reserved.get(operation.id) ?? used)
  }
}

const keyOf = ({ kind, id }: KeptOperation): string => `${kind} ${id}`
