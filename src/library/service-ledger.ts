import { checkOptions } from '../core/check-options.ts'
import { impossibleVerdict, refusedVerdict } from '../core/decision.ts'
import { got, SluiceError } from '../core/errors.ts'
import { type LedgerHold, type LedgerRefusal, paidField, shortField } from '../core/ledger-note.ts'
import { Lru } from '../core/lru.ts'
import { type FormsOf, FUNCTION, MS, TEXT } from '../core/option-forms.ts'
import type { Entry } from '../core/request.ts'
import { type Due, type Paid, type Payer, settledWeightOf } from '../engine/payer.ts'

/** Where the ledger is that pays for what rules with a meter admit. */
export interface ServiceLedgerOptions {
  /** The admin port of a Sluice service, such as `http://localhost:8082`. */
  readonly url: string
  /** A token with the role `ledger`. */
  readonly token: string
  /** Returns the customer who pays, from the entries of a request. Default: the value of `customer`, `customer_id` or `tenant`. */
  readonly customer?: (entries: readonly Entry[]) => string | undefined
  /** How long a request waits for the ledger, in milliseconds. Default: 2,000. */
  readonly withinMs?: number
  /** Receives what keeps the ledger from paying, and what it does not book. Default: none. */
  readonly onError?: (error: unknown) => void
}

const FORMS: FormsOf<ServiceLedgerOptions> = {
  url: TEXT,
  token: TEXT,
  customer: FUNCTION,
  withinMs: MS,
  onError: FUNCTION,
}

const WITHIN_MS = 2_000
const AGAIN_MS = 1_000
const REFUSAL_MS = 1_000
const MOST_REFUSED = 10_000
const MOST_LATE = 10_000
const CUSTOMER_KEYS: ReadonlySet<string> = new Set(['customer', 'customer_id', 'tenant'])

type Parts = Readonly<Record<'allowance' | 'grants' | 'credits' | 'overdraft', number>>

/** What the doors of the ledger answer. */
interface Answer {
  readonly status: number
  readonly json: {
    readonly code?: string
    readonly detail?: string
    readonly paid_from: Parts
    readonly balance: { readonly available: Parts; readonly period: { readonly end: string } }
    readonly needed: number
    readonly available: Parts
    readonly ran_out: readonly string[]
    readonly would_help: readonly string[]
    readonly renews_at: string | null
  }
}

/** A Late is a request that must be answered although no one waits for it. */
interface Late {
  readonly path: string
  readonly body: object
}

type Unpaid = Omit<Extract<Paid, { kind: 'unpaid' }>, 'kind' | 'at'>

/** Pays at the doors of a service: it reserves before, and commits or releases after. */
export class ServiceLedger implements Payer {
  readonly #options: ServiceLedgerOptions
  readonly #refused = new Lru<string, { readonly amount: number; readonly untilMs: number; readonly unpaid: Unpaid }>(
    MOST_REFUSED,
  )
  readonly #process = globalThis.crypto.randomUUID()
  #late: Late[] = []
  #timer: ReturnType<typeof setTimeout> | undefined
  #count = 0

  constructor(options: ServiceLedgerOptions) {
    checkOptions(options, FORMS)
    for (const name of ['url', 'token'] as const) {
      if (options[name] === undefined) throw new SluiceError('GATE_OPTIONS_INVALID', name, got(undefined))
    }
    this.#options = options
  }

  async pay(dues: readonly Due[], isHeld: boolean): Promise<Paid> {
    const taken: {
      readonly hold: LedgerHold
      readonly field: string
      readonly json: Readonly<Record<string, unknown>>
    }[] = []
    for (const [at, due] of dues.entries()) {
      const answer = await this.#take(due)
      if ('verdict' in answer) {
        for (const { hold } of taken) void this.#do('release', hold)
        return { kind: 'unpaid', at, ...answer }
      }
      taken.push(answer)
    }
    const holds = taken.map(({ hold }) => hold)
    const note = { field: taken.map(({ field }) => field).join(', '), json: taken.map(({ json }) => json) }
    if (isHeld) return { kind: 'paid', payment: { ...note, holds } }
    await Promise.all(holds.map((hold) => this.commit(hold, hold.amount)))
    return { kind: 'paid', payment: { ...note, holds: [] } }
  }

  async commit(hold: LedgerHold, used: number, before?: number): Promise<boolean> {
    if (before === undefined) return this.#do('commit', hold, { used })
    if (used > before) {
      const { customer, meter } = hold
      const event = { customer, meter, id: this.#id(), amount: used - before }
      return this.#send({ path: 'events', body: { events: [event] } })
    }
    const less = `meter ${hold.meter}: ${before} were booked before it was known that it is ${used}`
    this.#report(new Error(less))
    return false
  }

  async #take(due: Due) {
    const { meter } = due.ledger
    const customer = this.#customerOf(due.charge.entries)
    if (customer === undefined) return stranger(meter)
    const account = `${customer}\n${meter}`
    const known = this.#refused.get(account)
    if (known !== undefined && due.amount >= known.amount && Date.now() < known.untilMs) return known.unpaid
    const { amount } = due
    const hold = { key: due.charge.key, customer, meter, id: this.#id(), amount, weight: settledWeightOf(due) }
    let answer: Answer
    try {
      answer = await this.#ask('reserve', { customer, meter, id: hold.id, amount })
    } catch (error) {
      this.#report(error)
      void this.#do('release', hold)
      return away(meter)
    }
    const { status, json } = answer
    if (status === 200) return paid(hold, json)
    if (json.code !== 'LEDGER_SHORT') {
      this.#report(new Error(`the ledger answered ${status}: ${json.detail ?? json.code ?? 'no reason'}`))
      // The error says at which record: the customer's, or the meter's.
      if (status === 404 && json.detail?.startsWith('RECORD_UNKNOWN: customers')) return stranger(meter)
      if (status >= 500) void this.#do('release', hold)
      return away(meter)
    }
    const unpaid = short(meter, json, status)
    this.#refused.set(account, { amount, untilMs: Date.now() + REFUSAL_MS, unpaid })
    return unpaid
  }

  #customerOf(entries: readonly Entry[]): string | undefined {
    const { customer } = this.#options
    try {
      const found =
        customer === undefined ? entries.find(({ key }) => CUSTOMER_KEYS.has(key))?.value : customer(entries)
      return typeof found === 'string' && found !== '' ? found : undefined
    } catch (error) {
      this.#report(error)
      return undefined
    }
  }

  #do(path: 'commit' | 'release', { customer, meter, id }: LedgerHold, more: object = {}): Promise<boolean> {
    return this.#send({ path, body: { customer, meter, id, ...more } })
  }

  /** What is not answered is sent again, in order, until it is: its id makes that safe. */
  async #send(late: Late): Promise<boolean> {
    if (this.#late.length > 0) return this.#wait(late)
    try {
      const { status, json } = await this.#ask(late.path, late.body)
      if (status >= 500) return this.#wait(late)
      // A reservation that never was needs no release.
      if (status === 200 || (late.path === 'release' && status === 404)) return true
      this.#report(
        new Error(`the ledger answered ${late.path} with ${status}: ${json.detail ?? json.code ?? 'no reason'}`),
      )
      return false
    } catch {
      return this.#wait(late)
    }
  }

  #wait(late: Late): false {
    this.#late.push(late)
    if (this.#late.length > MOST_LATE) {
      this.#late.shift()
      this.#report(new Error('too much waits for a ledger that does not answer: something that was used is not booked'))
    }
    this.#arm()
    return false
  }

  #arm(): void {
    if (this.#timer !== undefined) return
    this.#timer = setTimeout(() => void this.#again(), AGAIN_MS)
    // A program that ends does not wait: reservations expire.
    ;(this.#timer as { unref?(): void }).unref?.()
  }

  async #again(): Promise<void> {
    const late = this.#late
    this.#late = []
    for (const [i, each] of late.entries()) {
      await this.#send(each)
      if (this.#late.length === 0) continue
      this.#late.push(...late.slice(i + 1))
      break
    }
    this.#timer = undefined
    if (this.#late.length > 0) this.#arm()
  }

  async #ask(path: string, body: object): Promise<Answer> {
    const { url, token, withinMs = WITHIN_MS } = this.#options
    const response = await fetch(new URL(`/v1/ledger/${path}`, url), {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(withinMs),
    })
    const json = (await response.json().catch(() => ({}))) as Answer['json']
    return { status: response.status, json }
  }

  #id(): string {
    return `app-${this.#process}-${(this.#count++).toString(36)}`
  }

  #report(error: unknown): void {
    this.#options.onError?.(error)
  }
}

const PARTS = ['allowance', 'grants', 'credits', 'overdraft'] as const
const sumOf = (parts: Parts): number => PARTS.reduce((sum, part) => sum + parts[part], 0)

function paid(hold: LedgerHold, { paid_from, balance }: Answer['json']) {
  const { meter, amount } = hold
  const { available, period } = balance
  const from = PARTS.filter((part) => paid_from[part] > 0)
  const field = paidField({ meter, amount, from, left: sumOf(available), endsAtMs: Date.parse(period.end) })
  return { hold, field, json: { meter, amount, paid_from, available, period } }
}

function short(meter: string, json: Answer['json'], status: number): Unpaid {
  const { needed, available, ran_out, would_help, renews_at, detail = 'too little is left' } = json
  const ledger: LedgerRefusal = {
    code: 'LEDGER_SHORT',
    reason: `meter ${meter}: ${detail}`,
    field: shortField({
      meter,
      needed,
      left: sumOf(available),
      ranOut: ran_out,
      wouldHelp: would_help,
      endsAtMs: undefined,
    }),
    json: [{ meter, needed, available, ran_out, renews_at, would_help }],
  }
  const waitMs = status === 429 && renews_at !== null ? Math.max(1_000, Date.parse(renews_at) - Date.now()) : undefined
  return unpaidBy(ledger, status, waitMs)
}

function stranger(meter: string): Unpaid {
  const reason = `meter ${meter} bills customers, and this request names none that is known`
  return unpaidBy({ code: 'LEDGER_CUSTOMER_UNKNOWN', reason, field: `"${meter}";customer=?0`, json: [{ meter }] }, 402)
}

function away(meter: string): Unpaid {
  const reason = `the ledger of meter ${meter} does not answer`
  return unpaidBy(
    { code: 'LEDGER_UNAVAILABLE', reason, field: `"${meter}";unavailable`, json: [{ meter }] },
    503,
    AGAIN_MS,
  )
}

function unpaidBy(ledger: LedgerRefusal, status: number, waitMs?: number): Unpaid {
  const verdict = waitMs === undefined ? impossibleVerdict(0, 0, 0, 0) : refusedVerdict(0, 0, waitMs, waitMs)
  return { verdict: { ...verdict, ledger }, status }
}
