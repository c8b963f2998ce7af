import type { Operation, Rejection } from './core/account-state.ts'
import { answerWithout, type LedgerAnswer } from './ledger-batch.ts'

/** An Asked is an operation, and whose account it is about. */
export interface Asked {
  readonly customerId: string
  readonly meterId: string
  readonly operation: Operation
}

/**
 * InFlight knows what this process has asked the ledger and not answered yet. A repetition is refused until the first
 * is answered: both would wait for the same commit, and a caller that repeats faster than it is answered would fill
 * the queue. On another node a repetition waits for the account, and gets the first answer.
 */
export class InFlight {
  readonly #asked = new Map<string, Operation>()

  /** Does operations unless they are in flight. An id that comes twice among them is no conflict: they are in order. */
  async run(all: readonly Asked[], ask: (each: Asked) => Promise<LedgerAnswer>): Promise<readonly LedgerAnswer[]> {
    const own = new Set<string>()
    try {
      return await Promise.all(
        all.map((each) => {
          const rejection = this.#claim(each, own)
          return rejection === undefined ? ask(each) : answerWithout({ kind: 'rejected', reason: rejection })
        }),
      )
    } finally {
      for (const key of own) this.#asked.delete(key)
    }
  }

  #claim({ customerId, meterId, operation }: Asked, own: Set<string>): Rejection | undefined {
    if (!('id' in operation)) return undefined
    const key = `${operation.kind}\n${customerId}\n${meterId}\n${operation.id}`
    const first = this.#asked.get(key)
    if (first !== undefined && !own.has(key)) return isSame(first, operation) ? 'in_flight' : 'id_reused'
    if (first === undefined) this.#asked.set(key, operation)
    own.add(key)
    return undefined
  }
}

const isSame = (a: Operation, b: Operation): boolean => JSON.stringify(a) === JSON.stringify(b)
