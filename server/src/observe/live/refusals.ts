import type { Decision, RuleVerdict } from 'sluice/internal/core/combine'
import type { PlannedCharge } from 'sluice/internal/engine/charge'
import { BLOCKED } from 'sluice/internal/engine/quotas'
import { reasonOf } from '../decision-reason.ts'
import type { DoorObserver, ObservedDoor } from '../door-observer.ts'
import { type CallerNames, type KnownCaller, sizeOf } from './caller-names.ts'

/** One request that was refused: plain data. */
export interface RefusedRequest extends KnownCaller {
  readonly atMs: number
  readonly domain: string
  readonly rule: string
  /** The caller, as it may be shown. */
  readonly key: string
  /** As the decision log has it, or `blocked`. */
  readonly reason: string
  /** Of a block: why, or its id. Of the ledger: what ran out, and what would help. */
  readonly detail: string | undefined
  readonly retryAfterMs: number | undefined
  /** The counter that refused. It is not shown: its key may contain an API key. */
  readonly counter: { readonly key: string; readonly limit: { readonly shape: string; readonly space: number } }
}

/** How many refusals a process remembers. */
export const MAX_REFUSALS = 1_000
/** A request whose entries have more characters is not remembered: it would hold too much memory. */
const MAX_CHARACTERS = 4_096
/** Within this time, one counter that refuses is remembered once, so that a flood of one caller evicts no others. */
const SAME_MS = 1_000

interface Held {
  readonly charge: PlannedCharge
  readonly verdict: RuleVerdict
  readonly atMs: number
}

/**
 * Remembers the last refused requests. A refusal costs a look into a map; the caller, and how it may be shown, is
 * determined when the list is read.
 */
export class Refusals implements DoorObserver {
  readonly #names: CallerNames
  readonly #nowMs: () => number
  readonly #ring: (Held | undefined)[] = new Array(MAX_REFUSALS).fill(undefined)
  /** When each counter was last remembered. */
  readonly #lately = new Map<string, number>()
  #at = 0

  constructor(names: CallerNames, nowMs: () => number = Date.now) {
    this.#names = names
    this.#nowMs = nowMs
  }

  decided(_door: ObservedDoor, charges: readonly PlannedCharge[], decision: Decision): void {
    if (decision.allowed) return
    let at = 0
    while (at < charges.length && (decision.verdicts[at].verdict.allowed || !charges[at].enforce)) at++
    if (at === charges.length || charges[at].cost <= 0 || sizeOf(charges[at].entries) > MAX_CHARACTERS) return
    const charge = charges[at]
    const verdict = decision.verdicts[at]
    const nowMs = this.#nowMs()
    // All that one block refuses is one: its key is that of the block.
    if (nowMs - (this.#lately.get(charge.key) ?? Number.NEGATIVE_INFINITY) < SAME_MS) return
    if (this.#lately.size >= MAX_REFUSALS) this.#lately.clear()
    this.#lately.set(charge.key, nowMs)
    this.#ring[this.#at] = { charge, verdict, atMs: nowMs }
    this.#at = (this.#at + 1) % MAX_REFUSALS
  }

  /** Returns the refusals of some callers, the newest first. */
  list(is: (caller: KnownCaller) => boolean): readonly RefusedRequest[] {
    const found: RefusedRequest[] = []
    for (let i = 1; i <= MAX_REFUSALS; i++) {
      const held = this.#ring[(this.#at - i + MAX_REFUSALS) % MAX_REFUSALS]
      if (held === undefined) break
      if (is(this.#names.callerOf(held.charge))) found.push(this.#refusalOf(held))
    }
    return found
  }

  #refusalOf({ charge, verdict: said, atMs }: Held): RefusedRequest {
    const { domain, rule, key: counter, limit } = charge
    const { verdict } = said
    return {
      atMs,
      ...this.#names.of(charge),
      domain,
      rule: rule.id,
      reason: verdict.block === undefined ? reasonOf(said, false) : BLOCKED,
      detail: verdict.ledger?.reason ?? verdict.block?.reason ?? verdict.block?.id,
      retryAfterMs: verdict.kind === 'refused' ? verdict.retryAfterMs : undefined,
      counter: { key: counter, limit: { shape: limit.shape, space: limit.space } },
    }
  }
}
