import { type ErrorCode, SluiceError } from 'sluice/internal/core/errors'
import type { LedgerCaller, NodeLedgerPort } from '../../admin/ledger/grpc/ledger-door.ts'
import type { Operation } from '../../ledger/core/account-state.ts'
import type { Asked } from '../../ledger/in-flight.ts'
import type { LedgerAnswer } from '../../ledger/ledger-batch.ts'

/** What a worker asks the ledger of its primary. `caller`: someone else asks, who has to show a token. */
export interface LedgerQuestion {
  readonly question: number
  readonly caller?: LedgerCaller
  readonly all: readonly Asked[]
}

/** What the primary says to it. */
export type LedgerReply =
  | { readonly question: number; readonly answers: readonly LedgerAnswer[] }
  | { readonly question: number; readonly code: ErrorCode; readonly detail: string }

interface Waiting {
  resolve(answers: readonly LedgerAnswer[]): void
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
export class LedgerLine implements NodeLedgerPort {
  readonly #turn: Turn<LedgerQuestion>
  readonly #waiting = new Map<number, Waiting>()
  #count = 0
  #isCut = false

  constructor(send: (questions: readonly LedgerQuestion[]) => void) {
    this.#turn = new Turn(send)
  }

  async ask(customerId: string, meterId: string, operation: Operation): Promise<LedgerAnswer> {
    const [answer] = await this.#send({ all: [{ customerId, meterId, operation }] })
    return answer
  }

  askAs(caller: LedgerCaller, all: readonly Asked[]): Promise<readonly LedgerAnswer[]> {
    return this.#send({ caller, all })
  }

  #send(asked: Omit<LedgerQuestion, 'question'>): Promise<readonly LedgerAnswer[]> {
    if (this.#isCut) return Promise.reject(gone())
    const question = this.#count++
    return new Promise((resolve, reject) => {
      this.#waiting.set(question, { resolve, reject })
      this.#turn.add({ question, ...asked })
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
      if ('answers' in reply) waiting?.resolve(reply.answers)
      else waiting?.reject(new SluiceError(reply.code, 'ledger', reply.detail))
    }
  }
}

const gone = (): SluiceError => new SluiceError('DATABASE_UNAVAILABLE', 'ledger', 'the primary has ended')

/** Answers what a worker asks, as soon as the ledger does. */
export function answerLedger(
  ledger: NodeLedgerPort | undefined,
  questions: readonly LedgerQuestion[],
  send: (replies: readonly LedgerReply[]) => void,
): void {
  const turn = new Turn(send)
  for (const asked of questions) {
    const { question } = asked
    answersTo(ledger, asked).then(
      (answers) => turn.add({ question, answers }),
      (error: unknown) => turn.add({ question, ...faultOf(error) }),
    )
  }
}

async function answersTo(
  ledger: NodeLedgerPort | undefined,
  { caller, all }: LedgerQuestion,
): Promise<readonly LedgerAnswer[]> {
  if (ledger === undefined) throw new SluiceError('DATABASE_UNAVAILABLE', 'ledger', 'the service has no database')
  if (caller !== undefined) return ledger.askAs(caller, all)
  return Promise.all(all.map(({ customerId, meterId, operation }) => ledger.ask(customerId, meterId, operation)))
}

function faultOf(error: unknown): { readonly code: ErrorCode; readonly detail: string } {
  if (error instanceof SluiceError) return { code: error.code, detail: error.detail }
  return { code: 'DATABASE_UNAVAILABLE', detail: error instanceof Error ? error.message : String(error) }
}
