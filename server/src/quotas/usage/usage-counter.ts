import type { Decision } from 'sluice/internal/core/combine'
import type { Verdict } from 'sluice/internal/core/decision'
import type { Entry } from 'sluice/internal/core/request'
import type { Account, AccountLookup } from 'sluice/internal/core/rules/match'
import type { Rule } from 'sluice/internal/core/rules/rule-set'
import type { PlannedCharge } from 'sluice/internal/engine/charge'
import type { Quotas } from 'sluice/internal/engine/quotas'
import { THRESHOLDS } from '../../admin/webhooks/table.ts'
import { CustomerRecord, KeyRecord } from '../book/records.ts'
import { crossed } from './thresholds.ts'
import type { Crossing, UsageDelta, UsageNews } from './usage-news.ts'

export interface UsageCounterOptions {
  readonly nowMs?: () => number
  /** Blocks and limits refuse no one: --shadow-mode. */
  readonly isShadow?: boolean
  /** Called when so many pairs of caller and limit have counts that they should be taken immediately. */
  readonly full?: () => void
  /** Pairs that are held. Default: 100,000, of about 150 bytes each. */
  readonly maxPairs?: number
}

const MAX_PAIRS = 100_000
const HOUR_MS = 3_600_000
const LOWEST = THRESHOLDS[0]
const HIGHEST = THRESHOLDS[THRESHOLDS.length - 1]
const NONE_REPORTED: ReadonlySet<number> = new Set()

/** A Cell counts for one caller and one limit. */
class Cell {
  readonly account: Account
  readonly rule: Rule
  readonly domain: string
  /** As it is reported. */
  readonly limit: string
  allowed = 0
  refused = 0
  cost = 0
  isDirty = false
  /** The thresholds that were reported in the period that ends at `periodEndMs`. */
  reportedThresholds = NONE_REPORTED
  periodStartMs = 0
  periodEndMs = 0

  constructor(account: Account, rule: Rule, domain: string) {
    this.account = account
    this.rule = rule
    this.domain = domain
    this.limit = `${domain}/${rule.id}`
  }
}

/**
 * A UsageCounter counts what known customers do, by the limits that decide about them. It works on the hot path: a pair
 * of caller and limit that is known allocates nothing. Whatever callers send, it holds a bounded number of pairs.
 */
export class UsageCounter {
  readonly #quotas: () => Quotas
  readonly #options: Required<UsageCounterOptions>
  readonly #cells = new Map<Account, Cell[]>()
  #held = 0
  #dirty: Cell[] = []
  #crossings: Crossing[] = []
  #book: Quotas | undefined
  #sinceMs: number

  constructor(quotas: () => Quotas, options: UsageCounterOptions = {}) {
    const { nowMs = Date.now, isShadow = false, full = () => {}, maxPairs = MAX_PAIRS } = options
    this.#quotas = quotas
    this.#options = { nowMs, isShadow, full, maxPairs }
    this.#sinceMs = nowMs()
  }

  /** Counts a decision, whichever door asked. */
  decided(_: string, charges: readonly PlannedCharge[], decision: Decision): void {
    const book = this.#quotas()
    const { accounts } = book
    if (accounts === undefined) return
    if (book !== this.#book) this.#turnTo(book)
    let entries: readonly Entry[] | undefined
    let account: Account | undefined
    for (let i = 0; i < charges.length; i++) {
      const charge = charges[i]
      const named = charge.blocked ?? charge.entries
      if (named !== entries) {
        entries = named
        account = callerOf(accounts, named)
      }
      if (account !== undefined) this.#count(account, charge, decision, decision.verdicts[i]?.verdict)
    }
  }

  /** Returns what was counted since it was last called. */
  take(): UsageNews {
    const atMs = this.#sinceMs
    const untilMs = this.#options.nowMs()
    this.#sinceMs = untilMs
    const deltas = this.#dirty.map(emptied)
    const crossings = this.#crossings
    this.#dirty = []
    this.#crossings = []
    return { atMs, untilMs, deltas, crossings }
  }

  /** #turnTo forgets cells of records that are not those in force any more. What they have counted is kept. */
  #turnTo(book: Quotas): void {
    this.#book = book
    this.#forget()
  }

  #forget(): void {
    this.#cells.clear()
    this.#held = 0
  }

  #count(account: Account, charge: PlannedCharge, { allowed }: Decision, verdict: Verdict | undefined): void {
    const { cost } = charge
    // Who only looks uses nothing.
    if (cost === 0 && charge.isFree !== true) return
    const passed = allowed || this.#options.isShadow
    const refuses = !passed && verdict !== undefined && !verdict.allowed && verdict.unasked !== true
    // Another limit refused it, or this one only reports.
    if (!passed && (!refuses || charge.rule.shadow)) return
    const cell = this.#cellOf(account, charge)
    if (!passed) cell.refused++
    else {
      if (cost >= 0) cell.allowed++
      cell.cost += cost
    }
    if (!cell.isDirty) this.#noteDirty(cell)
    if (charge.limit.calendar !== undefined && verdict !== undefined) this.#watch(cell, charge, verdict)
  }

  #noteDirty(cell: Cell): void {
    cell.isDirty = true
    this.#dirty.push(cell)
    if (this.#dirty.length >= this.#options.maxPairs) this.#options.full()
  }

  #cellOf(account: Account, { rule, domain }: PlannedCharge): Cell {
    const cells = this.#cells.get(account)
    if (cells !== undefined) {
      for (let i = 0; i < cells.length; i++) if (cells[i].rule === rule && cells[i].domain === domain) return cells[i]
    }
    return this.#newCell(account, rule, domain)
  }

  #newCell(account: Account, rule: Rule, domain: string): Cell {
    if (this.#held >= this.#options.maxPairs) this.#forget()
    const cell = new Cell(account, rule, domain)
    const cells = this.#cells.get(account)
    if (cells === undefined) this.#cells.set(account, [cell])
    else cells.push(cell)
    this.#held++
    return cell
  }

  #begin(cell: Cell, { calendar }: PlannedCharge['limit'], withinMs: number): void {
    const { startMs = 0, endMs = 0 } = calendar?.windowAt(withinMs) ?? {}
    cell.periodStartMs = startMs
    cell.periodEndMs = endMs
    cell.reportedThresholds = NONE_REPORTED
  }

  /**
   * #watch notes when a share of a calendar quota is used for the first time in its period, as far as this process
   * knows.
   */
  #watch(cell: Cell, { rule, limit }: PlannedCharge, verdict: Verdict): void {
    const { limit: quota, remaining, resetAfterMs, fallback, unasked } = verdict
    const used = quota - remaining
    if (quota <= 0 || used * 100 < LOWEST * quota || rule.shadow || fallback !== undefined || unasked === true) return
    // The clock of the store may be another: its word on when the period ends counts, within an hour.
    const withinMs = this.#options.nowMs() + resetAfterMs - HOUR_MS
    if (withinMs < cell.periodStartMs || withinMs >= cell.periodEndMs) this.#begin(cell, limit, withinMs)
    else if (cell.reportedThresholds.has(HIGHEST)) return
    const found = crossed({ used, limit: quota }, cell.reportedThresholds)
    if (found.length === 0) return
    cell.reportedThresholds = new Set([...cell.reportedThresholds, ...found])
    const { periodStartMs, periodEndMs } = cell
    for (const threshold of found) {
      this.#crossings.push({ ...whoAndWhat(cell), threshold, used, quota, periodStartMs, periodEndMs })
    }
  }
}

/** Returns the first customer, or key, that entries lead to. */
function callerOf(accounts: AccountLookup, entries: readonly Entry[]): Account | undefined {
  for (let i = 0; i < entries.length; i++) {
    const account = accounts('', entries[i])
    if (account !== undefined) return account
  }
  return undefined
}

function emptied(cell: Cell): UsageDelta {
  const delta = { ...whoAndWhat(cell), allowed: cell.allowed, refused: cell.refused, cost: cell.cost }
  cell.allowed = 0
  cell.refused = 0
  cell.cost = 0
  cell.isDirty = false
  return delta
}

/** Reads the record each time: a key may have moved to another customer. */
function whoAndWhat({ account, limit }: Cell): Pick<UsageDelta, 'customerId' | 'keyId' | 'limit'> {
  if (account instanceof KeyRecord) return { customerId: account.customer?.id ?? '', keyId: account.id, limit }
  return { customerId: account instanceof CustomerRecord ? account.id : '', keyId: undefined, limit }
}
