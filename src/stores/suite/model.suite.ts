import { debitVerdict, type Verdict } from '../../core/decision.ts'
import { debitLimit, type Limit } from '../../core/limit.ts'
import { type CounterState, type HitRecord, step } from '../../core/step.ts'
import type { Charge, Renewal } from '../../engine/ports.ts'

type Counter = Pick<Charge, 'key' | 'limit'>
type Holder = readonly [timeMs: number, permits: number]

/** Permits of the model: their number, and the counters they are held in. */
export interface ModelPermits {
  readonly id: number
  readonly held: readonly (Counter & Pick<Charge, 'cost'>)[]
}

/**
 * The plainest store there is: a Map of states and `step()`. What a look finds (a cost of 0, a charge on a place that
 * is not acquired, a charge that fits in a group that is refused) is not kept; of everything else what `step()` returns
 * is. A counter named twice in a group is asked for the sum of what fitted so far.
 */
export class StoreModel {
  readonly #counters = new Map<string, { counter: Counter; state: CounterState }>()
  readonly #holders = new Map<string, { counter: Counter; holders: readonly Holder[] }>()
  #leases = 0

  decide(charges: readonly Charge[], nowMs: number): Verdict[] {
    return this.#settle(charges, nowMs, undefined)
  }

  acquire(charges: readonly Charge[], nowMs: number): { verdicts: Verdict[]; permits: ModelPermits | undefined } {
    const id = ++this.#leases
    const verdicts = this.#settle(charges, nowMs, id)
    if (isRefused(charges, verdicts)) return { verdicts, permits: undefined }
    const held = charges.filter(
      ({ limit, cost }, i) => limit.algorithm === 'concurrency' && cost > 0 && verdicts[i].allowed,
    )
    return { verdicts, permits: { id, held } }
  }

  release(permits: ModelPermits): void {
    for (const counter of permits.held) {
      const holders = this.#holdersOf(counter)
      this.#keepHolders(
        counter,
        holders.filter(([, id]) => id !== permits.id),
      )
    }
  }

  /** renew: a counter at which nothing is renewed stays as it is. What is held is renewed before anything is taken again. */
  renew(all: readonly ModelPermits[], nowMs: number): Renewal[] {
    const counters = new Map(all.flatMap(({ held }) => held).map((counter) => [nameOf(counter), counter]))
    const results = all.map((): Renewal => 'held')
    for (const counter of counters.values()) {
      const asked = all.map(({ id, held }) => {
        const here = held.filter((each) => nameOf(each) === nameOf(counter))
        return { id, places: here.reduce((sum, { cost }) => sum + cost, 0) }
      })
      const wanted = new Set(asked.filter(({ places }) => places > 0).map(({ id }) => id))
      const live = this.#holdersOf(counter).filter(([timeMs]) => timeMs + counter.limit.windowMs > nowMs)
      const held = live.filter(([, id]) => wanted.has(id))
      const isHeld = new Set(held.map(([, id]) => id))
      const said = new Map<number, Renewal>()
      let places = live.length
      for (const { id, places: lost } of asked) {
        if (!wanted.has(id) || isHeld.has(id) || said.has(id)) continue
        said.set(id, places + lost <= counter.limit.max ? 'retaken' : 'overrun')
        places += lost
        for (let i = 0; i < lost; i++) held.push([nowMs, id])
      }
      const others = live.filter(([, id]) => !wanted.has(id))
      this.#keepHolders(
        counter,
        [...others, ...held].map(([timeMs, id]): Holder => [wanted.has(id) ? nowMs : Math.min(timeMs, nowMs), id]),
      )
      all.forEach(({ id }, i) => {
        if (results[i] !== 'overrun') results[i] = said.get(id) ?? results[i]
      })
    }
    return results
  }

  reset(counter: Counter): void {
    this.#counters.delete(nameOf(counter))
    this.#holders.delete(nameOf(counter))
  }

  /** Returns the counters that are as good as unused at nowMs: a store may or may not still have them. */
  expired(nowMs: number): Counter[] {
    const numbers = [...this.#counters.values()].filter(({ counter: { limit }, state }) => {
      return step(state, limit, nowMs, 0).state === undefined
    })
    const places = [...this.#holders.values()].filter(({ counter: { limit }, holders }) => {
      return holders.every(([timeMs]) => timeMs + limit.windowMs <= nowMs)
    })
    return [...numbers, ...places].map(({ counter }) => counter)
  }

  #settle(charges: readonly Charge[], nowMs: number, permits: number | undefined): Verdict[] {
    const verdicts: Verdict[] = []
    for (const charge of charges) {
      const cost = charge.cost + alreadyAsked(charges, verdicts, charge)
      if (charge.debit) verdicts.push(debitVerdict(charge.limit.max, 0, 0, 0))
      else verdicts.push(step(this.#stateOf(charge), charge.limit, nowMs, cost).verdict)
    }
    const refused = isRefused(charges, verdicts)
    charges.forEach((charge, i) => {
      if (refused && verdicts[i].allowed) {
        verdicts[i] = this.#uncharged(charge, nowMs)
        return
      }
      if (charge.debit) verdicts[i] = this.#debit(charge, nowMs)
      if (charge.cost === 0 || charge.debit) return
      const asked = refused ? alreadyAsked(charges, verdicts.slice(0, i), charge) : 0
      if (charge.limit.algorithm !== 'concurrency') this.#keep(charge, nowMs, charge.cost + asked)
      else if (permits !== undefined && charge.cost > 0)
        this.#take(charge, nowMs, verdicts[i].allowed ? permits : undefined)
    })
    return verdicts
  }

  /** Makes a late charge, whether it fits or not. */
  #debit(charge: Charge, nowMs: number): Verdict {
    const { verdict, dropped } = step(this.#stateOf(charge), debitLimit(charge.limit), nowMs, charge.cost)
    this.#keep({ ...charge, limit: debitLimit(charge.limit) }, nowMs, charge.cost)
    return debitVerdict(verdict.limit, verdict.remaining, verdict.resetAfterMs, dropped)
  }

  /** Tells the budget of what would have fitted into a group that is refused: nothing was charged. */
  #uncharged(counter: Counter, nowMs: number): Verdict {
    const { limit, remaining, resetAfterMs } = step(this.#stateOf(counter), counter.limit, nowMs, 0).verdict
    return { kind: 'allowed', allowed: true, limit, remaining, resetAfterMs, delayMs: 0 }
  }

  #keep(counter: Counter, nowMs: number, cost: number): void {
    const { state } = step(this.#stateOf(counter), counter.limit, nowMs, cost)
    if (state === undefined) this.#counters.delete(nameOf(counter))
    else this.#counters.set(nameOf(counter), { counter, state })
  }

  /** Lets the holders go whose time has run out, moves those from the future to now, and adds the new one. */
  #take({ key, limit, cost }: Charge, nowMs: number, permits: number | undefined): void {
    const stay = this.#holdersOf({ key, limit }).filter(([timeMs]) => timeMs + limit.windowMs > nowMs)
    const moved = stay.map(([timeMs, id]): Holder => [Math.min(timeMs, nowMs), id])
    const taken = permits === undefined ? [] : Array.from({ length: cost }, (): Holder => [nowMs, permits])
    this.#keepHolders({ key, limit }, [...moved, ...taken])
  }

  #stateOf(counter: Counter): CounterState | undefined {
    if (counter.limit.algorithm !== 'concurrency') return this.#counters.get(nameOf(counter))?.state
    return { records: this.#holdersOf(counter).map(([timeMs]): HitRecord => [timeMs, 1]) }
  }

  #holdersOf(counter: Counter): readonly Holder[] {
    return this.#holders.get(nameOf(counter))?.holders ?? []
  }

  #keepHolders(counter: Counter, holders: readonly Holder[]): void {
    if (holders.length === 0) this.#holders.delete(nameOf(counter))
    else this.#holders.set(nameOf(counter), { counter, holders })
  }
}

function nameOf({ key, limit }: { readonly key: string; readonly limit: Limit }): string {
  return `${limit.shape} ${key}`
}

/** Returns the model's own answer to whether a group is refused, by the words of the rule. */
export function isRefused(charges: readonly Charge[], verdicts: readonly Verdict[]): boolean {
  const enforcing = charges.map((charge, i) => ({ ...charge, ...verdicts[i] })).filter(({ enforce }) => enforce)
  const quotas = enforcing.filter(({ quota }) => quota)
  const others = enforcing.filter(({ quota }) => !quota)
  return others.some(({ allowed }) => !allowed) || (quotas.length > 0 && quotas.every(({ allowed }) => !allowed))
}

/** Adds up what the charges before, those with a verdict, took from the same counter. */
function alreadyAsked(charges: readonly Charge[], verdicts: readonly Verdict[], of: Charge): number {
  const before = charges
    .slice(0, verdicts.length)
    .filter((charge, i) => verdicts[i].allowed && !charge.debit && nameOf(charge) === nameOf(of))
  return before.reduce((sum, { cost }) => sum + cost, 0)
}
