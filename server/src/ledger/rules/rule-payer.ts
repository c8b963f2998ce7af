import { randomBytes } from 'node:crypto'
import type { LedgerHold } from 'sluice/internal/core/ledger-note'
import { Lru } from 'sluice/internal/core/lru'
import { type Due, type Paid, type Payer, settledWeightOf } from 'sluice/internal/engine/payer'
import type { Quotas } from 'sluice/internal/engine/quotas'
import type { Operation } from '../core/account-state.ts'
import type { LedgerAnswer } from '../ledger-batch.ts'
import { LateJobs } from './late-jobs.ts'
import type { LedgerPort } from './ledger-port.ts'
import { awayRefusal, type PaidMeter, paidNote, type Refused, shortRefusal, strangerRefusal } from './notes.ts'
import { payingCustomer } from './paying-customer.ts'

/** Events of a RulePayer, for the log. */
export interface RulePayerEvents {
  /** Requests are refused, because the ledger does not answer, or has no such meter. */
  unavailable(meter: string, reason: string): void
  /** Something that was used is not booked. */
  lost(meter: string, reason: string): void
}

export interface RulePayerOptions {
  readonly events: RulePayerEvents
  readonly nowMs?: () => number
  /** How long a request waits for the ledger. Default: 2,000. */
  readonly withinMs?: number
  /** For how long a refusal is repeated to the same customer without asking again. Default: 1,000. 0: not at all. */
  readonly refusalMs?: number
}

const WITHIN_MS = 2_000
const REFUSAL_MS = 1_000
/** Customers whose last refusal is remembered. */
const MOST_REFUSED = 10_000

/** A Step is one due on its way. */
interface Step {
  readonly due: Due
  readonly customer: string
  readonly meter: string
  readonly id: string
}

interface RefusedLately {
  readonly amount: number
  readonly untilMs: number
  readonly refused: Refused
}

/**
 * A RulePayer pays for what rules with a meter admit, from the account of the customer that a request leads to. A
 * request that ends with its answer is booked before it is answered; of one that is open, the amount is held. What a
 * refused request took is undone.
 */
export class RulePayer implements Payer {
  readonly #ledger: LedgerPort | undefined
  readonly #quotas: (() => Quotas) | undefined
  readonly #late: LateJobs
  readonly #options: Required<RulePayerOptions>
  readonly #refused = new Lru<string, RefusedLately>(MOST_REFUSED)
  /** Of holds that were settled again after they were booked: what is booked of them. */
  readonly #bookings = new WeakMap<LedgerHold, { readonly id: string; amount: number }[]>()
  readonly #process = randomBytes(9).toString('base64url')
  #count = 0

  /** Without a ledger, every request that owes something is refused. */
  constructor(ledger: LedgerPort | undefined, quotas: (() => Quotas) | undefined, options: RulePayerOptions) {
    const { events, nowMs = Date.now, withinMs = WITHIN_MS, refusalMs = REFUSAL_MS } = options
    this.#ledger = ledger
    this.#quotas = quotas
    this.#options = { events, nowMs, withinMs, refusalMs }
    const port = ledger ?? { ask: () => Promise.reject(new Error('no ledger')) }
    const reason = 'too much waits for a ledger that does not answer'
    this.#late = new LateJobs(port, { dropped: ({ meter }) => events.lost(meter, reason) })
  }

  async pay(dues: readonly Due[], isHeld: boolean): Promise<Paid> {
    const taken: { readonly step: Step; readonly paid: PaidMeter }[] = []
    // One that is alone and ends with its answer is booked in one operation.
    const isAlone = dues.length === 1 && !isHeld
    for (const [at, due] of dues.entries()) {
      const answer = await this.#take(due, isAlone)
      if (!('paid' in answer)) {
        for (const { step } of taken) this.#undo(step, false)
        return { kind: 'unpaid', at, ...answer }
      }
      taken.push(answer)
    }
    const note = paidNote(taken.map(({ paid }) => paid))
    if (isHeld) return { kind: 'paid', payment: { ...note, holds: taken.map(({ step }) => holdOf(step)) } }
    if (!isAlone) await Promise.all(taken.map(({ step }) => this.commit(holdOf(step), step.due.amount)))
    return { kind: 'paid', payment: { ...note, holds: [] } }
  }

  async commit(hold: LedgerHold, used: number, before?: number): Promise<boolean> {
    const { customer, meter } = hold
    const operations = this.#settlement(hold, used, before)
    const answers = await Promise.all(operations.map((operation) => this.#late.do({ customer, meter, operation })))
    for (const answer of answers) {
      if (answer === undefined) return false
      const { outcome } = answer
      if (DONE.has(outcome.kind)) continue
      this.#options.events.lost(meter, outcome.kind === 'rejected' ? outcome.reason : outcome.kind)
      return false
    }
    return true
  }

  /** Returns what to do about a hold. What was booked before is never changed: more is an event, less a correction. */
  #settlement(hold: LedgerHold, used: number, before: number | undefined): readonly Operation[] {
    const { id } = hold
    if (before === undefined) return [{ kind: 'commit', id, used }]
    const bookings = this.#bookings.get(hold) ?? [{ id, amount: before }]
    this.#bookings.set(hold, bookings)
    if (used > before) {
      const more = { id: `${id}-${++this.#count}`, amount: used - before }
      bookings.push(more)
      return [{ kind: 'event', ...more }]
    }
    const operations: Operation[] = []
    for (let left = before - used; left > 0; ) {
      const last = bookings[bookings.length - 1]
      const amount = Math.min(left, last.amount)
      left -= amount
      last.amount -= amount
      if (last.amount === 0 && bookings.length > 1) bookings.pop()
      const note = 'the request turned out to cost less'
      operations.push({ kind: 'correct', id: `${id}-${++this.#count}`, corrects: last.id, amount, note })
    }
    return operations
  }

  /** Resolves when what is in flight is booked. */
  close(): Promise<void> {
    return this.#late.close()
  }

  async #take(due: Due, isBooked: boolean): Promise<{ step: Step; paid: PaidMeter } | Refused> {
    const { meter } = due.ledger
    if (this.#ledger === undefined) {
      this.#options.events.unavailable(meter, 'the service has no database (--database)')
      return awayRefusal(meter)
    }
    const customer = payingCustomer(this.#quotas?.().accounts, due.charge.entries)
    if (customer === undefined) return strangerRefusal(meter)
    const known = this.#refusedLately(customer, meter, due.amount)
    if (known !== undefined) return known
    const step = { due, customer, meter, id: `rule-${this.#process}-${(this.#count++).toString(36)}` }
    const { id } = step
    const { amount } = due
    const answer = await this.#askInTime(
      step,
      isBooked ? { kind: 'event', id, amount } : { kind: 'reserve', id, amount },
    )
    if (answer === undefined) return awayRefusal(meter)
    const { outcome, balance } = answer
    if (outcome.kind === 'reserved' || outcome.kind === 'settled') {
      return { step, paid: { meter, amount, paidFrom: outcome.paidFrom, balance } }
    }
    // What pays for it is known when the database has recovered.
    if (outcome.kind === 'buffered') return { step, paid: { meter, amount, paidFrom: undefined, balance } }
    return this.#refusalOf(step, answer)
  }

  #refusalOf({ customer, meter, due }: Step, { outcome, balance, refusalStatus }: LedgerAnswer): Refused {
    const { events, nowMs, refusalMs } = this.#options
    if (outcome.kind === 'refused') {
      const refused = shortRefusal(meter, outcome.shortage, { balance, status: refusalStatus, nowMs: nowMs() })
      const untilMs = nowMs() + refusalMs
      if (refusalMs > 0) this.#refused.set(keyOf(customer, meter), { amount: due.amount, untilMs, refused })
      return refused
    }
    if (outcome.kind === 'unknown' && outcome.what === 'customer') return strangerRefusal(meter)
    const reason = outcome.kind === 'rejected' ? outcome.reason : 'there is no such meter'
    events.unavailable(meter, reason)
    return awayRefusal(meter)
  }

  /** A refusal gives the limit's charge back, so that only this keeps an empty account from asking all the time. */
  #refusedLately(customer: string, meter: string, amount: number): Refused | undefined {
    const known = this.#refused.get(keyOf(customer, meter))
    if (known === undefined || amount < known.amount || this.#options.nowMs() >= known.untilMs) return undefined
    return known.refused
  }

  /** Undefined: there was no answer in time, and what may have been done is undone. */
  async #askInTime(step: Step, operation: Operation): Promise<LedgerAnswer | undefined> {
    const { events, withinMs } = this.#options
    const { customer, meter } = step
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), withinMs)
    })
    try {
      const answer = await Promise.race([this.#ledger!.ask(customer, meter, operation), late])
      if (answer !== undefined) return answer
      events.unavailable(meter, `no answer within ${withinMs} ms`)
    } catch (error) {
      events.unavailable(meter, error instanceof Error ? error.message : String(error))
    } finally {
      clearTimeout(timer)
    }
    this.#undo(step, operation.kind === 'event')
    return undefined
  }

  #undo({ customer, meter, id, due }: Step, isBooked: boolean): void {
    const operation: Operation = isBooked
      ? { kind: 'correct', id: `${id}-undo`, corrects: id, amount: due.amount, note: 'the request was refused' }
      : { kind: 'release', id }
    void this.#late.do({ customer, meter, operation })
  }
}

const DONE: ReadonlySet<string> = new Set(['settled', 'released', 'corrected', 'buffered'])
const keyOf = (customer: string, meter: string): string => `${customer}\n${meter}`

function holdOf(step: Step): LedgerHold {
  const { due, customer, meter, id } = step
  return { key: due.charge.key, customer, meter, id, amount: due.amount, weight: settledWeightOf(due) }
}
