import type { Sql } from '../quotas/database/database.ts'
import type { Meter } from '../quotas/model.ts'
import { RECORD_TABLES } from '../records/tables.ts'
import { Account } from './core/account.ts'
import type { Balance, Operation, Outcome } from './core/account-state.ts'
import { type Drain, notifyLowBalances, usedShareOf } from './low-balance.ts'
import { arrayText } from './tables/bulk.ts'
import {
  type LoadedAccount,
  loadAccounts,
  loadBooked,
  loadHolds,
  loadLots,
  storeAccounts,
  type Wanted,
} from './tables/ledger-tables.ts'
import { termsOf } from './terms-of.ts'

/** A Job is one operation on the account of an id. */
export interface Job {
  readonly accountId: number
  readonly operation: Operation
}

interface UnknownPlace {
  readonly kind: 'unknown'
  readonly what: 'customer' | 'meter' | 'account'
}

/** It is in the journal of this node, and booked when the database answers. */
interface Buffered {
  readonly kind: 'buffered'
  readonly isRepeated: boolean
}

/** A LedgerAnswer is what came of an operation, and what the account has after it. */
export interface LedgerAnswer {
  readonly outcome: Outcome | UnknownPlace | Buffered
  /** Undefined: there is no such account, or the database is unavailable. */
  readonly balance: Balance | undefined
  /** Of the meter: the status of its refusals, and what it does while the database is unavailable. */
  readonly refusalStatus: number
  readonly whenUnavailable: Meter['whenUnavailable']
}

/** Answers without asking an account. */
export const answerWithout = (outcome: LedgerAnswer['outcome']): LedgerAnswer => ({
  outcome,
  balance: undefined,
  refusalStatus: 404,
  whenUnavailable: 'closed',
})

const NO_METER = answerWithout({ kind: 'unknown', what: 'meter' })
const NO_ACCOUNT = answerWithout({ kind: 'unknown', what: 'account' })
const NO_CUSTOMER = answerWithout({ kind: 'unknown', what: 'customer' })

/**
 * Does many operations in one transaction: all of them are committed with their answers, or none. Each account is
 * taken once, however many operations it has, so that many writers of one account share its lock instead of waiting
 * for each other.
 */
export async function runJobs(tx: Sql, jobs: readonly Job[], clock?: () => number): Promise<readonly LedgerAnswer[]> {
  const ids = [...new Set(jobs.map(({ accountId }) => accountId))].sort((a, b) => a - b)
  const { accounts: loaded, atMs } = await loadAccounts(tx, ids)
  const nowMs = clock?.() ?? atMs
  const meters = await loadMeters(tx, loaded)
  await loadNamed(tx, loaded, jobs, nowMs)
  const accounts = new Map<number, Account>()
  const drains: Drain[] = []
  for (const each of loaded.values()) {
    const meter = meters.get(each.meterId)
    if (meter === undefined) continue
    const { customerId, meterId, state } = each
    drains.push({ customerId, meterId, state, before: usedShareOf(state) })
    accounts.set(each.id, openAccount(each, meter, nowMs))
  }
  const answers = jobs.map(({ accountId, operation }) => {
    const own = loaded.get(accountId)
    const account = accounts.get(accountId)
    if (own === undefined) return NO_ACCOUNT
    if (account === undefined) return NO_METER
    if (!own.terms.has_customer && beginsNew(operation)) return NO_CUSTOMER
    const { refusalStatus, whenUnavailable } = meters.get(own.meterId)!
    return { outcome: account.apply(operation), balance: account.balance, refusalStatus, whenUnavailable }
  })
  await storeAccounts(tx, new Map([...accounts].map(([id, { book }]) => [id, book])))
  await notifyLowBalances(tx, drains, nowMs)
  return answers
}

/** Of a customer that was removed, what is open can be settled, and nothing new begins. */
const beginsNew = (operation: Operation): boolean =>
  operation.kind === 'issue' ||
  ((operation.kind === 'reserve' || operation.kind === 'event') && operation.forced === undefined)

/** The operations that settle a hold, and those whose repetition is an entry. */
const NAMES_HOLD: ReadonlySet<Operation['kind']> = new Set([
  'reserve',
  'commit',
  'release',
  'event',
  'issue',
  'correct',
])

async function loadNamed(
  tx: Sql,
  loaded: ReadonlyMap<number, LoadedAccount>,
  jobs: readonly Job[],
  nowMs: number,
): Promise<void> {
  const named: Wanted[] = []
  const corrected: Wanted[] = []
  for (const { accountId, operation } of jobs) {
    if (NAMES_HOLD.has(operation.kind)) named.push({ accountId, id: (operation as { id: string }).id })
    if (operation.kind === 'correct') corrected.push({ accountId, id: operation.corrects })
  }
  await loadHolds(tx, loaded, unique(named), nowMs)
  // A hold that is open has no entries.
  const others = named.filter(({ accountId, id }) => loaded.get(accountId)?.holds.has(id) !== true)
  const wanted = unique([...others, ...corrected])
  if (wanted.length > 0) await loadBooked(tx, loaded, wanted)
  await loadLots(tx, loaded, corrected)
}

function unique(wanted: readonly Wanted[]): Wanted[] {
  return [...new Map(wanted.map((each) => [`${each.accountId} ${each.id}`, each])).values()]
}

function openAccount({ terms, state, holds, booked }: LoadedAccount, meter: Meter, nowMs: number): Account {
  const known = { hold: (id: string) => holds.get(id), booked: (id: string) => booked.get(id) ?? [] }
  const expired = [...holds.values()].filter(({ expiresAtMs }) => expiresAtMs <= nowMs)
  return new Account(state, termsOf(meter, terms), nowMs, known, expired)
}

async function loadMeters(tx: Sql, loaded: ReadonlyMap<number, LoadedAccount>): Promise<Map<string, Meter>> {
  const ids = [...new Set([...loaded.values()].map(({ meterId }) => meterId))]
  const rows = await tx.query<Record<string, unknown>>(
    'SELECT * FROM sluice.meters WHERE id = ANY ($1::text::text[])',
    [arrayText(ids)],
  )
  return new Map(rows.map((row) => [row.id as string, RECORD_TABLES.meters.toRecord(row)]))
}
