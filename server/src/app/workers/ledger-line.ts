import { type ErrorCode, SluiceError } from 'sluice/internal/core/errors'
import type { Operation } from '../../ledger/core/account-state.ts'
import type { LedgerAnswer } from '../../ledger/ledger-batch.ts'
import type { LedgerPort } from '../../ledger/rules/ledger-port.ts'

/** What a worker asks the ledger of its primary. */
export interface LedgerQuestion {
  readonly question: number
  readonly customer: string
  readonly meter: string
  readonly operation: Operation
}

/** What the primary says to it. */
export type LedgerReply =
  | { readonly question: number; readonly answer: LedgerAnswer }
  | { readonly question: number; readonly code: ErrorCode; readonly detail: string }

interface Waiting {
  resolve(answer: LedgerAnswer): void
  reject(error: unknown): void
}

/** Collects what one turn of the event loop has to send: a message between processes costs more than what is in it. */
class Turn<T> {
  #items: T[] = []
  readonly #send: (items: readonly T[]) => void

  constructor(send: (items: readonly T[]) => void) {
    this.#send = send
  }

  add(item: T): void {
    if (this.#items.push(item) > 1) return
    setImmediate(() => {
      const items = this.#items
      this.#items = []
      this.#send(items)
    })
  }
}

/** The ledger of a worker: that of its primary, which has the database. */
export class LedgerLine implements LedgerPort {
  readonly #turn: Turn<LedgerQuestion>
  readonly #waiting = new Map<number, Waiting>()
  #count = 0
  #isCut = false

  constructor(send: (questions: readonly LedgerQuestion[]) => void) {
    this.#turn = new Turn(send)
  }

  ask(customer: string, meter: string, operation: Operation): Promise<LedgerAnswer> {
    if (this.#isCut) return Promise.reject(gone())
    const question = this.#count++
    return new Promise((resolve, reject) => {
      this.#waiting.set(question, { resolve, reject })
      this.#turn.add({ question, customer, meter, operation })
    })
  }

  /** The primary is gone: nothing is answered any more. */
  cut(): void {
    this.#isCut = true
    for (const { reject } of this.#waiting.values()) reject(gone())
    this.#waiting.clear()
  }

  hear(replies: readonly LedgerReply[]): void {
    for (const reply of replies) {
      const waiting = this.#waiting.get(reply.question)
      this.#waiting.delete(reply.question)
      if ('answer' in reply) waiting?.resolve(reply.answer)
      else waiting?.reject(new SluiceError(reply.code, 'ledger', reply.detail))
    }
  }
}

const gone = (): SluiceError => new SluiceError('DATABASE_UNAVAILABLE', 'ledger', 'the primary has ended')

/** Answers what a worker asks, as soon as the ledger does. */
export function answerLedger(
  ledger: LedgerPort | undefined,
  questions: readonly LedgerQuestion[],
  send: (replies: readonly LedgerReply[]) => void,
): void {
  const turn = new Turn(send)
  for (const { question, customer, meter, operation } of questions) {
    const asked =
      ledger?.ask(customer, meter, operation) ??
      Promise.reject(new SluiceError('DATABASE_UNAVAILABLE', 'ledger', 'the service has no database'))
    asked.then(
      (answer) => turn.add({ question, answer }),
      (error: unknown) => turn.add({ question, ...faultOf(error) }),
    )
  }
}

function faultOf(error: unknown): { readonly code: ErrorCode; readonly detail: string } {
  if (error instanceof SluiceError) return { code: error.code, detail: error.detail }
  return { code: 'DATABASE_UNAVAILABLE', detail: error instanceof Error ? error.message : String(error) }
}
