import type { Customer, Meter } from '../../quotas/model.ts'
import type { Balance, Operation } from '../core/account-state.ts'
import { MemoryAccount } from '../core/memory-account.suite.ts'
import { answerWithout, type LedgerAnswer } from '../ledger-batch.ts'
import { termsOf } from '../terms-of.ts'
import type { LedgerPort } from './ledger-port.ts'

/** A ledger in memory, which can be made to fail as a database does. */
export class MemoryPort implements LedgerPort {
  readonly asked: Operation[] = []
  isAway = false
  readonly #meters: ReadonlyMap<string, Meter>
  readonly #customers: ReadonlyMap<string, Customer>
  readonly #now: () => number
  readonly #accounts = new Map<string, MemoryAccount>()
  readonly #inFlight = new Set<Promise<unknown>>()
  #isBroken = false
  #heldUp: Promise<void> | undefined

  constructor(meters: readonly Meter[], customers: readonly Customer[], now: () => number) {
    this.#meters = new Map(meters.map((each) => [each.id, each]))
    this.#customers = new Map(customers.map((each) => [each.id, each]))
    this.#now = now
  }

  /** What was asked, in order. */
  kinds(): readonly string[] {
    return this.asked.map(({ kind }) => kind)
  }

  /** Does what is asked next, and loses the answer. */
  breakOnce(): void {
    this.#isBroken = true
  }

  /** Keeps what is asked from now on until the function is called that it returns. */
  holdUp(): () => void {
    let go = (): void => {}
    this.#heldUp = new Promise((resolve) => {
      go = resolve
    })
    return () => {
      this.#heldUp = undefined
      go()
    }
  }

  /** Resolves when everything that was asked is done. */
  async settled(): Promise<void> {
    while (this.#inFlight.size > 0) await Promise.allSettled(this.#inFlight)
  }

  ask(customerId: string, meterId: string, operation: Operation): Promise<LedgerAnswer> {
    const answer = this.#ask(customerId, meterId, operation)
    this.#inFlight.add(answer)
    answer.finally(() => this.#inFlight.delete(answer)).catch(() => {})
    return answer
  }

  async look(customerId: string, meterId: string): Promise<Balance> {
    return this.#do(customerId, meterId, { kind: 'look' }).balance!
  }

  account(customerId: string, meterId: string): MemoryAccount {
    const key = `${customerId} ${meterId}`
    const found = this.#accounts.get(key) ?? new MemoryAccount()
    this.#accounts.set(key, found)
    return found
  }

  async #ask(customerId: string, meterId: string, operation: Operation): Promise<LedgerAnswer> {
    if (operation.kind !== 'issue') this.asked.push(operation)
    await this.#heldUp
    if (this.isAway) throw new Error('away')
    const answer = this.#do(customerId, meterId, operation)
    if (!this.#isBroken) return answer
    this.#isBroken = false
    throw new Error('the connection was lost')
  }

  #do(customerId: string, meterId: string, operation: Operation): LedgerAnswer {
    const meter = this.#meters.get(meterId)
    const customer = this.#customers.get(customerId)
    if (meter === undefined || customer === undefined) {
      const what = meter === undefined ? 'meter' : 'customer'
      return answerWithout({ kind: 'unknown', what })
    }
    const { tier = null, timeZone: time_zone, periodAnchor: period_anchor = null } = customer
    const terms = termsOf(meter, { has_customer: true, tier, time_zone, period_anchor })
    const { outcomes, balance } = this.account(customerId, meterId).run([operation], terms, this.#now())
    const { refusalStatus, whenUnavailable } = meter
    return { outcome: outcomes[0], balance, refusalStatus, whenUnavailable }
  }
}
