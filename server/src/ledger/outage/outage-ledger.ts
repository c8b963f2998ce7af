import { SluiceError } from 'sluice/internal/core/errors'
import type { Operation } from '../core/account-state.ts'
import type { Asked } from '../in-flight.ts'
import type { Ledger } from '../ledger.ts'
import { answerWithout, type LedgerAnswer } from '../ledger-batch.ts'
import { Absence, type KeptOperation, type Seen } from './absence.ts'
import type { Journal } from './journal.ts'

interface Kept extends Asked {
  readonly operation: KeptOperation
}

export interface OutageEvents {
  /** What was confirmed from the journal could not be booked. */
  lost?(asked: Asked, reason: string): void
  /** The database is unavailable, and operations go to the journal. */
  began?(error: Error): void
  /** All of the journal is booked. */
  ended?(booked: number): void
}

const MOST_SEEN = 100_000
const BATCH = 2_000
const RETRY_MS = 1_000

/**
 * Asks the ledger, and does as each meter says while the database is unavailable: `closed` fails, `buffer` and `open`
 * confirm what is in the journal. That is booked in order, with its ids, as soon as the database answers; until it is,
 * more of the same account goes behind it.
 */
export class OutageLedger {
  readonly #ledger: Ledger
  readonly #journal: Journal | undefined
  readonly #events: OutageEvents
  readonly #seen = new Map<string, Seen>()
  readonly #absences = new Map<string, Absence>()
  /** In the journal, and not booked. */
  #kept: Kept[] = []
  #appending = 0
  #booked = 0
  #isAway = false
  #timer: NodeJS.Timeout | undefined
  #booking: Promise<void> | undefined
  /** The last of the journal is being booked: more of the same accounts waits for that. */
  #handover: Promise<void> | undefined
  #isClosed = false

  /** Without a journal all meters are closed. */
  constructor(ledger: Ledger, journal: Journal | undefined, events: OutageEvents = {}) {
    this.#ledger = ledger
    this.#journal = journal
    this.#events = events
    for (const text of journal?.texts ?? []) this.#continue(JSON.parse(text) as Kept)
    if (this.#kept.length > 0) this.#bookSoon()
  }

  /** Operations that are confirmed and not booked. */
  get waiting(): number {
    return this.#kept.length
  }

  get isAway(): boolean {
    return this.#isAway
  }

  async ask(customerId: string, meterId: string, operation: Operation): Promise<LedgerAnswer> {
    const key = keyOf({ customerId, meterId })
    while (this.#handover !== undefined && this.#absences.has(key)) await this.#handover
    if (this.#absences.has(key) || (this.#isAway && this.#mayKeep(key, operation))) {
      return this.#confirm({ customerId, meterId, operation }, key)
    }
    try {
      const answer = await this.#ledger.ask(customerId, meterId, operation)
      this.#see(key, answer)
      return answer
    } catch (error) {
      // It may have been done: the journal has it under the same id.
      if (!isUnavailable(error) || !this.#mayKeep(key, operation)) throw error
      this.#leave(error)
      return this.#confirm({ customerId, meterId, operation }, key)
    }
  }

  #see(key: string, { balance, whenUnavailable }: LedgerAnswer): void {
    if (this.#journal === undefined || balance === undefined) return
    this.#seen.delete(key)
    if (whenUnavailable === 'closed') return
    const { allowance, grants, credits, overdraft } = balance.available
    if (this.#seen.size >= MOST_SEEN) this.#seen.delete(this.#seen.keys().next().value!)
    this.#seen.set(key, { policy: whenUnavailable, available: allowance + grants + credits + overdraft })
  }

  /** What was never asked of this node is not known to exist, and fails. */
  #mayKeep(key: string, { kind }: Operation): boolean {
    return this.#seen.has(key) && KEPT.has(kind)
  }

  async #confirm(asked: Asked, key: string): Promise<LedgerAnswer> {
    const { operation } = asked
    if (!isKept(operation)) throw unavailable('what the journal has is booked first')
    const absence = this.#absences.get(key) ?? new Absence(this.#seen.get(key)!)
    const admitted = absence.admit(operation)
    if (admitted === 'id_reused') return answerWithout({ kind: 'rejected', reason: 'id_reused' })
    if (admitted === 'short') throw unavailable('it is more than this node last saw available')
    if (admitted === 'repeated') return answerWithout({ kind: 'buffered', isRepeated: true })
    const forced = { as: absence.policy === 'open' ? ('debt' as const) : ('unpaid' as const), atMs: Date.now() }
    const kept = { ...asked, operation: { ...operation, forced } }
    this.#absences.set(key, absence)
    absence.waiting++
    this.#appending++
    try {
      await this.#journal!.append(JSON.stringify(kept))
      this.#kept.push(kept)
      return answerWithout({ kind: 'buffered', isRepeated: false })
    } catch (error) {
      absence.withdraw(operation)
      this.#drop(key)
      throw error
    } finally {
      this.#appending--
    }
  }

  /** Continues with what the journal had when the service started. */
  #continue(kept: Kept): void {
    const { forced, ...operation } = kept.operation
    const key = keyOf(kept)
    // How much was available is not known any more.
    const absence =
      this.#absences.get(key) ?? new Absence({ policy: forced?.as === 'debt' ? 'open' : 'buffer', available: 0 })
    absence.note(operation)
    absence.waiting++
    this.#absences.set(key, absence)
    this.#kept.push(kept)
  }

  #drop(key: string): void {
    const absence = this.#absences.get(key)
    if (absence !== undefined && --absence.waiting === 0) this.#absences.delete(key)
  }

  #leave(error: Error): void {
    if (!this.#isAway) this.#events.began?.(error)
    this.#isAway = true
    this.#bookSoon()
  }

  #bookSoon(): void {
    if (this.#isClosed || this.#booking !== undefined || this.#timer !== undefined) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#booking = this.#book().finally(() => {
        this.#booking = undefined
        if (this.#isAway || this.#kept.length > 0) this.#bookSoon()
      })
    }, RETRY_MS).unref()
  }

  async #book(): Promise<void> {
    try {
      while (this.#kept.length > BATCH) await this.#bookSome()
      // Under steady load there would always be something new behind it.
      this.#handover = this.#bookRest().finally(() => {
        this.#handover = undefined
      })
      await this.#handover
    } catch (error) {
      this.#leave(error as Error)
    }
  }

  /** A batch that is not answered is booked again, with the same ids. */
  async #bookSome(): Promise<void> {
    const batch = this.#kept.slice(0, BATCH)
    await this.#bookBatch(batch)
    this.#kept = this.#kept.slice(batch.length)
    for (const each of batch) this.#drop(keyOf(each))
    this.#booked += batch.length
  }

  async #bookRest(): Promise<void> {
    while (this.#kept.length > 0 || this.#appending > 0) {
      if (this.#kept.length > 0) await this.#bookSome()
      await this.#journal?.idle()
    }
    await this.#ledger.ping()
    // Another account may have been written to the journal meanwhile.
    if (this.#kept.length > 0 || this.#appending > 0) return
    this.#isAway = false
    this.#journal?.empty()
    this.#events.ended?.(this.#booked)
    this.#booked = 0
  }

  /** What the database refuses in a batch is found by booking them one by one. */
  async #bookBatch(batch: readonly Kept[]): Promise<void> {
    try {
      const answers = await this.#ledger.askTogether(batch)
      for (const [i, { outcome }] of answers.entries()) {
        if (outcome.kind === 'rejected') this.#events.lost?.(batch[i], outcome.reason)
        else if (outcome.kind === 'unknown') this.#events.lost?.(batch[i], `no such ${outcome.what}`)
      }
    } catch (error) {
      if (isUnavailable(error)) throw error
      if (batch.length === 1) this.#events.lost?.(batch[0], (error as Error).message)
      else for (const each of batch) await this.#bookBatch([each])
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#booking?.catch(() => {})
    await this.#journal?.close()
  }
}

const KEPT: ReadonlySet<Operation['kind']> = new Set(['reserve', 'commit', 'release', 'event'])

const isKept = (operation: Operation): operation is KeptOperation => KEPT.has(operation.kind)

const isUnavailable = (error: unknown): error is SluiceError =>
  error instanceof SluiceError && error.code === 'DATABASE_UNAVAILABLE'

const unavailable = (detail: string): SluiceError => new SluiceError('DATABASE_UNAVAILABLE', 'ledger', detail)

const keyOf = ({ customerId, meterId }: Pick<Asked, 'customerId' | 'meterId'>): string => `${customerId}\n${meterId}`
