import { canSample } from '../../core/consistency.ts'
import { debitVerdict, unaskedVerdict, type Verdict } from '../../core/decision.ts'
import type { Charge } from '../../engine/ports.ts'
import type { SampledCounter } from './sampled-counter.ts'
import type { SampledCounters } from './sampled-counters.ts'

/** Returns whether a charge is decided by a share of hits to drop. */
export function isSampled({ policy, limit }: Charge): boolean {
  return policy?.consistency === 'sampled' && canSample(limit)
}

/** Decides about one charge. */
export function drawOne(counter: SampledCounter, { limit, cost, debit }: Charge, nowMs: number): Verdict {
  if (debit === true) {
    counter.force(cost, nowMs)
    const { remaining, resetAfterMs } = counter.verdict(true)
    return debitVerdict(limit.max, remaining, resetAfterMs, 0)
  }
  if (cost > limit.capacity || (cost === 0 && limit.capacity === 0)) return counter.impossible()
  if (cost < 0) counter.refund(-cost)
  if (cost <= 0) return counter.verdict(cost < 0 || counter.wouldPass(1, nowMs))
  return counter.verdict(counter.draw(cost, nowMs))
}

/** The sampled charges of one request, and the others, which the parent decides. */
export class Draws {
  readonly charges: readonly Charge[]
  /** By position; undefined until the parent has decided. */
  readonly verdicts: (Verdict | undefined)[]
  readonly #counters: (SampledCounter | undefined)[]

  constructor(charges: readonly Charge[], counters: SampledCounters, nowMs: number) {
    this.charges = charges
    this.#counters = charges.map((charge) =>
      isSampled(charge) ? counters.of(charge.key, charge.limit, nowMs) : undefined,
    )
    this.verdicts = charges.map((charge, i) => {
      const counter = this.#counters[i]
      return counter === undefined ? undefined : drawOne(counter, charge, nowMs)
    })
  }

  /** What the parent decides. Where a rule in quota mode has budget here, the others of them bind nothing. */
  get rest(): readonly Charge[] {
    const isOpen = this.charges.some(({ enforce, quota }, i) => enforce && quota && this.verdicts[i]?.allowed)
    const rest = this.charges.filter((_, i) => this.#counters[i] === undefined)
    return isOpen ? rest.map((charge) => (charge.quota ? { ...charge, enforce: false } : charge)) : rest
  }

  /** Records what the parent said about the rest. */
  heard(verdicts: readonly Verdict[]): void {
    let next = 0
    this.charges.forEach((_, i) => {
      if (this.#counters[i] === undefined) this.verdicts[i] = verdicts[next++]
    })
  }

  /** Returns the verdicts, with those that no one was asked for. */
  get all(): readonly Verdict[] {
    return this.verdicts.map((verdict, i) => verdict ?? unaskedVerdict(this.charges[i].limit.max))
  }

  /** Takes back what passed here: the request is refused, or decided without the store. */
  undo(): void {
    this.charges.forEach(({ cost, debit }, i) => {
      const counter = this.#counters[i]
      if (counter === undefined || cost <= 0 || debit === true || this.verdicts[i]?.allowed !== true) return
      counter.undo(cost)
      this.verdicts[i] = counter.verdict(true)
    })
  }
}
