import type { Decision } from 'sluice/internal/core/combine'
import { handsOutTurns } from 'sluice/internal/core/limit'
import { freeCharge, type PlannedCharge } from 'sluice/internal/engine/charge'
import type { Ticket, Turns } from './turns.ts'

/** The places of a request in the queues of its limits. */
export class Line {
  readonly #turns: Turns
  /** What the store is to be asked about: a turn that this process has already is not taken again. */
  readonly charges: readonly PlannedCharge[]
  /** By the position of the charge. */
  readonly #tickets: (Ticket | undefined)[] = []

  constructor(turns: Turns, charges: readonly PlannedCharge[]) {
    this.#turns = turns
    this.charges = turns.queues === 0 ? charges : charges.map((charge, i) => this.#taken(charge, i))
  }

  /** Waits for the turns that an admitted request was given, and returns all of its places. */
  join({ verdicts }: Decision): readonly Ticket[] {
    this.charges.forEach((charge, i) => {
      const found = verdicts[i]
      if (found === undefined || found.rule !== charge.rule || found.rule.shadow || !isQueued(charge)) return
      const { verdict } = found
      if (verdict.kind === 'allowed' && verdict.delayMs > 0)
        this.#tickets[i] ??= this.#turns.add(queueOf(charge), verdict.delayMs)
    })
    return this.#tickets.filter((ticket) => ticket !== undefined)
  }

  /** Gives all places to requests behind it. */
  leave(): void {
    for (const ticket of this.#tickets) ticket?.leave()
  }

  #taken(charge: PlannedCharge, i: number): PlannedCharge {
    const ticket = isQueued(charge) ? this.#turns.take(queueOf(charge)) : undefined
    if (ticket === undefined) return charge
    this.#tickets[i] = ticket
    return freeCharge(charge)
  }
}

/** Gives a request the turns that are spare in the queues of its limits; undefined where none of them has a queue. */
export function lineUp(turns: Turns, charges: readonly PlannedCharge[]): Line | undefined {
  return charges.some(isQueued) ? new Line(turns, charges) : undefined
}

function isQueued({ limit, enforce, cost, verdict }: PlannedCharge): boolean {
  return enforce && cost > 0 && verdict === undefined && handsOutTurns(limit)
}

/** A turn is as long as its cost: requests of another cost cannot take it. */
function queueOf({ key, limit, cost }: PlannedCharge): string {
  return `${cost} ${limit.shape} ${key}`
}
