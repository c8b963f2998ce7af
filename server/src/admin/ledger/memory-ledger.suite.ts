import type { Operation } from '../../ledger/core/account-state.ts'
import { closingOf } from '../../ledger/core/entry.ts'
import { MemoryAccount } from '../../ledger/core/memory-account.suite.ts'
import { answerWithout, type LedgerAnswer } from '../../ledger/ledger-batch.ts'
import type { LedgerService } from '../../ledger/ledger-service.ts'
import { termsOf } from '../../ledger/terms-of.ts'
import type { Offered, Records } from '../api/parts.ts'

/** A ledger in memory, as far as the API can see. */
export class MemoryLedger implements Offered<LedgerService> {
  readonly #records: Records
  readonly #now: () => number
  readonly #accounts = new Map<string, MemoryAccount>()

  constructor(records: Records, now: () => number) {
    this.#records = records
    this.#now = now
  }

  async ask(customerId: string, meterId: string, operation: Operation): Promise<LedgerAnswer> {
    const meter = await this.#records.get('meters', meterId)
    const customer = await this.#records.get('customers', customerId)
    if (meter === undefined || customer === undefined)
      return answerWithout({ kind: 'unknown', what: meter === undefined ? 'meter' : 'customer' })
    const { tier, timeZone, periodAnchor } = customer
    const row = { has_customer: true, tier: tier ?? null, time_zone: timeZone, period_anchor: periodAnchor ?? null }
    const account = this.#account(customerId, meterId)
    const terms = termsOf(meter, row)
    // An account is a day older than its first request, so that it has a period that has ended.
    if (account.state.period === undefined) account.run([{ kind: 'look' }], terms, this.#now() - 86_400_000)
    const { outcomes, balance } = account.run([operation], terms, this.#now())
    return { outcome: outcomes[0], balance, refusalStatus: meter.refusalStatus, whenUnavailable: meter.whenUnavailable }
  }

  askAll(all: Parameters<LedgerService['askAll']>[0]) {
    return Promise.all(all.map(({ customerId, meterId, operation }) => this.ask(customerId, meterId, operation)))
  }

  change(customerId: string, meterId: string, operation: Operation): Promise<LedgerAnswer> {
    return this.ask(customerId, meterId, operation)
  }

  async accounts(customerId: string) {
    return [...this.#accounts]
      .filter(([key]) => key.startsWith(`${customerId}/`))
      .map(([key, { state, holds }]) => ({
        meterId: key.slice(customerId.length + 1),
        periodStartMs: state.period?.startMs,
        periodEndMs: state.period?.endMs,
        used: state.totals.used,
        debt: state.debt,
        openHolds: holds.size,
        lots: state.lots.map((lot) => ({
          ...lot,
          expiresAtMs: Number.isFinite(lot.expiresAtMs) ? lot.expiresAtMs : undefined,
        })),
      }))
  }

  async statement({ customerId, meterId, after, limit }: Parameters<LedgerService['statement']>[0]) {
    const { state, entries } = this.#account(customerId, meterId)
    if (state.period === undefined) return undefined
    const page = entries.filter(({ number }) => number > after)
    const shown = page.slice(0, limit)
    return {
      ...state.period,
      state: 'open' as const,
      closedAtMs: undefined,
      totals: state.totals,
      closing: closingOf(state.totals),
      entries: shown,
      next: page.length > limit ? shown.at(-1)?.number : undefined,
    }
  }

  async balanceAt(customerId: string, meterId: string) {
    const { balance, debt } = this.#account(customerId, meterId).state
    return { balance, debt }
  }

  readonly drifts = new Map<string, number>()

  async reconcile(limits: Parameters<LedgerService['reconcile']>[0]) {
    return { periods: 0, meters: new Map(limits.map(({ meterId }) => [meterId, 0])), drifts: [] }
  }

  async verify() {
    return { ok: true, accounts: this.#accounts.size, entries: 0, sum: 0, problems: [] }
  }

  #account(customerId: string, meterId: string): MemoryAccount {
    const key = `${customerId}/${meterId}`
    const found = this.#accounts.get(key) ?? new MemoryAccount()
    this.#accounts.set(key, found)
    return found
  }
}
