import type { Issue, Operation, Outcome } from './account-state.ts'
import { noParts, type Parts } from './lot.ts'

export const DAY_MS = 86_400_000
const RANK = { carried: 0, allowance: 0, grant: 1, credit: 2 }
const PART = { carried: 'allowance', allowance: 'allowance', grant: 'grants', credit: 'credits' } as const

interface ModelLot {
  readonly kind: keyof typeof RANK
  readonly priority: number
  readonly fromMs: number
  readonly endMs: number
  readonly order: number
  carried: number
}

/** One unit of quota. `lot` undefined: overdraft, or, if unpaid, nothing. */
interface Unit {
  lot: ModelLot | undefined
  state: 'free' | 'held' | 'used' | 'gone'
  isUnpaid?: boolean
}

export interface ModelTerms {
  readonly allowance: number
  readonly most: number
  readonly periods: number
  readonly graceMs: number
  readonly overdraft: number
  readonly holdMs: number
}

/**
 * The account as one would do it with coins on a table: every unit is an object, every day comes, and nothing is
 * summed ahead.
 */
export class AccountModel {
  nowMs = 0
  debt: Unit[] = []
  #coins: Unit[] = []
  #lots = 0
  #day: number | undefined
  #given = 0
  readonly #holds = new Map<string, { coins: Unit[]; atMs: number; endMs: number }>()
  readonly #paid = new Map<string, Unit[]>()
  readonly #over = new Map<string, { kind: 'released' | 'expired' | 'committed'; atMs: number }>()

  step(operation: Operation, terms: ModelTerms, nowMs: number): Pick<Outcome, 'kind'> & { parts?: Parts } {
    this.nowMs = nowMs
    for (const [id, hold] of this.#holds) if (hold.endMs <= nowMs) this.#free(id, 'expired')
    this.#days(terms)
    const outcome = this.#do(operation, terms)
    this.#tidy(terms)
    return outcome
  }

  available(terms: ModelTerms): Parts {
    const parts = noParts()
    for (const coin of this.#usable(this.nowMs)) parts[PART[coin.lot!.kind]]++
    parts.overdraft = this.#overdraft(terms)
    return parts
  }

  get held(): number {
    return [...this.#holds.values()].reduce((sum, { coins }) => sum + coins.length, 0)
  }

  #do(operation: Operation, terms: ModelTerms): Pick<Outcome, 'kind'> & { parts?: Parts } {
    if (operation.kind === 'reserve') return this.#reserve(operation.id, operation.amount, terms)
    if (operation.kind === 'event') return this.#event(operation, terms)
    if (operation.kind === 'issue') return this.#issue(operation)
    if (operation.kind === 'commit' && operation.used > 0) return this.#commit(operation.id, operation.used, terms)
    if (operation.kind === 'commit' || operation.kind === 'release') {
      if (this.#holds.has(operation.id)) this.#free(operation.id, 'released')
      else if (!this.#over.has(operation.id)) return { kind: 'rejected' }
      return { kind: this.#over.get(operation.id)!.kind === 'committed' ? 'rejected' : 'released' }
    }
    if (operation.kind === 'correct') return this.#correct(operation.corrects, operation.amount)
    return { kind: 'looked' }
  }

  #reserve(id: string, amount: number, terms: ModelTerms): Pick<Outcome, 'kind'> & { parts?: Parts } {
    const coins = this.#pick(amount, this.nowMs, terms)
    if (coins.some(({ isUnpaid }) => isUnpaid)) return { kind: 'refused' }
    for (const coin of coins) coin.state = 'held'
    this.#holds.set(id, { coins, atMs: this.nowMs, endMs: this.nowMs + terms.holdMs })
    return { kind: 'reserved', parts: partsOf(coins) }
  }

  #commit(id: string, used: number, terms: ModelTerms): Pick<Outcome, 'kind'> & { parts?: Parts } {
    const hold = this.#holds.get(id)
    const over = this.#over.get(id)
    if (hold === undefined && over?.kind !== 'expired') return { kind: 'rejected' }
    this.#holds.delete(id)
    const coins = (hold?.coins ?? []).slice(0, used)
    for (const coin of hold?.coins ?? []) coin.state = 'free'
    for (const coin of coins) coin.state = 'used'
    const atMs = hold?.atMs ?? over!.atMs
    this.#pay(id, coins)
    const more = this.#pick(used - coins.length, this.#paidAt(atMs, terms), terms)
    for (const coin of more) coin.state = 'used'
    this.#pay(id, more)
    this.#paid.set(id, [...coins, ...more])
    this.#over.set(id, { kind: 'committed', atMs })
    return { kind: 'settled', parts: partsOf([...coins, ...more]) }
  }

  #event(operation: Operation & { kind: 'event' }, terms: ModelTerms): Pick<Outcome, 'kind'> & { parts?: Parts } {
    const coins = this.#pick(operation.amount, this.#paidAt(operation.atMs ?? this.nowMs, terms), terms)
    if (coins.some(({ isUnpaid }) => isUnpaid)) return { kind: 'refused' }
    for (const coin of coins) coin.state = 'used'
    this.#pay(operation.id, coins)
    return { kind: 'settled', parts: partsOf(coins) }
  }

  #issue({ lotKind, amount, priority = 50, effectiveAtMs, expiresAtMs }: Issue): Pick<Outcome, 'kind'> {
    this.#mint(lotKind, amount, priority, effectiveAtMs ?? this.nowMs, expiresAtMs ?? Number.POSITIVE_INFINITY)
    return { kind: 'issued' }
  }

  #correct(id: string, amount: number): Pick<Outcome, 'kind'> {
    const used = (this.#paid.get(id) ?? []).filter(({ state }) => state === 'used')
    if (used.length < amount || amount === 0) return { kind: 'rejected' }
    let fresh: ModelLot | undefined
    for (const coin of used.slice(used.length - amount).reverse()) {
      if (coin.lot !== undefined || coin.isUnpaid) coin.state = coin.isUnpaid ? 'gone' : 'free'
      else {
        coin.state = 'gone'
        if (this.debt.length > 0) this.debt.pop()
        else fresh = this.#mint('grant', 1, 50, this.nowMs, Number.POSITIVE_INFINITY, fresh)
      }
    }
    return { kind: 'corrected' }
  }

  #pay(id: string, coins: Unit[]): void {
    for (const coin of coins) if (coin.lot === undefined && !coin.isUnpaid) this.debt.push(coin)
    this.#paid.set(id, coins)
  }

  #free(id: string, kind: 'released' | 'expired'): void {
    const hold = this.#holds.get(id)!
    for (const coin of hold.coins) coin.state = 'free'
    this.#holds.delete(id)
    this.#over.set(id, { kind, atMs: hold.atMs })
  }

  #days(terms: ModelTerms): void {
    const today = Math.floor(this.nowMs / DAY_MS)
    for (let day = this.#day === undefined ? today : this.#day + 1; day <= today; day++) {
      this.#day = day
      this.#given = 0
      this.#giveAllowance(terms)
      this.#repay(day * DAY_MS)
    }
    this.#giveAllowance(terms)
    this.#tidy(terms)
  }

  #allowanceLot: ModelLot | undefined

  #giveAllowance({ allowance }: ModelTerms): void {
    const more = allowance - this.#given
    if (more <= 0) return
    const fromMs = this.#day! * DAY_MS
    const lot = this.#given === 0 ? undefined : this.#allowanceLot
    this.#allowanceLot = this.#mint('allowance', more, 0, fromMs, fromMs + DAY_MS, lot)
    this.#given = allowance
  }

  #tidy(terms: ModelTerms): void {
    this.#repay(this.nowMs)
    const carriedOf = new Map<ModelLot, ModelLot>()
    for (const coin of this.#coins.filter(({ state }) => state === 'free')) {
      const lot = coin.lot!
      if (lot.endMs + terms.graceMs > this.nowMs) continue
      coin.state = 'gone'
      const endMs = lot.endMs + terms.periods * DAY_MS
      if (lot.kind !== 'allowance' || lot.carried >= terms.most || endMs + terms.graceMs <= this.nowMs) continue
      lot.carried++
      carriedOf.set(lot, this.#mint('carried', 1, 0, lot.endMs, endMs, carriedOf.get(lot)))
    }
  }

  #repay(atMs: number): void {
    for (const coin of this.#usable(atMs)) {
      if (this.debt.length === 0) return
      this.debt.pop()
      coin.state = 'gone'
    }
  }

  #mint(kind: ModelLot['kind'], amount: number, priority: number, fromMs: number, endMs: number, into?: ModelLot) {
    const lot = into ?? { kind, priority, fromMs, endMs, order: ++this.#lots, carried: 0 }
    for (let n = 0; n < amount; n++) this.#coins.push({ lot, state: 'free' })
    return lot
  }

  #usable(atMs: number, nowMs = atMs): Unit[] {
    const isUsable = ({ state, lot }: Unit): boolean => {
      const { kind, fromMs, endMs } = lot!
      const begun = fromMs <= (RANK[kind] === 0 ? atMs : Math.max(atMs, nowMs))
      return state === 'free' && begun && atMs < endMs
    }
    return this.#coins.filter(isUsable).sort((one, other) => {
      const [a, b] = [one.lot!, other.lot!]
      const byEnd = a.endMs === b.endMs ? 0 : a.endMs - b.endMs
      const byAge = a.fromMs - b.fromMs || Number(a.kind === 'allowance') - Number(b.kind === 'allowance')
      return RANK[a.kind] - RANK[b.kind] || a.priority - b.priority || byEnd || byAge || a.order - b.order
    })
  }

  #overdraft({ overdraft }: ModelTerms): number {
    const held = [...this.#holds.values()].flatMap(({ coins }) => coins).filter(({ lot }) => lot === undefined)
    return Math.max(0, overdraft - this.debt.length - held.length)
  }

  #pick(amount: number, atMs: number, terms: ModelTerms): Unit[] {
    const coins = this.#usable(atMs, this.nowMs).slice(0, amount)
    const left = this.#overdraft(terms)
    while (coins.length < amount) {
      const taken = coins.filter(({ lot }) => lot === undefined).length
      coins.push({ lot: undefined, state: 'free', isUnpaid: taken >= left })
    }
    return coins
  }

  /** What happened in a day that is closed is paid like something of now. */
  #paidAt(atMs: number, { graceMs }: ModelTerms): number {
    const endMs = (Math.floor(atMs / DAY_MS) + 1) * DAY_MS
    return endMs > this.nowMs || endMs + graceMs > this.nowMs ? atMs : this.nowMs
  }
}

function partsOf(coins: readonly Unit[]): Parts {
  const parts = noParts()
  for (const { lot, isUnpaid } of coins) {
    parts[lot !== undefined ? PART[lot.kind] : isUnpaid ? 'unpaid' : 'overdraft']++
  }
  return parts
}
