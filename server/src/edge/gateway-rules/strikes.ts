import { combine, type Decision } from 'sluice/internal/core/combine'
import type { Verdict } from 'sluice/internal/core/decision'
import type { Entry } from 'sluice/internal/core/request'
import type { PlannedCharge } from 'sluice/internal/engine/charge'
import { andThen } from 'sluice/internal/engine/maybe'
import type { MaybePromise } from 'sluice/internal/engine/ports'
import type { Blocks } from './blocks.ts'
import type { GatewayLimiter } from './gateway-limiter.ts'
import { type Escalation, GATEWAY_DOMAIN } from './planned-route.ts'
import { isDecided, type RequestPlan } from './request-plan.ts'

/** Counts refusals, and blocks callers that have had too many. */
export class Striker {
  readonly #limiter: GatewayLimiter
  readonly #blocks: Blocks

  constructor(limiter: GatewayLimiter, blocks: Blocks) {
    this.#limiter = limiter
    this.#blocks = blocks
  }

  /**
   * Counts a refusal by limits that block after some, and blocks the caller with the last of them. A caller that is
   * blocked is not counted against: tries during a block neither lengthen it nor lead to the next one. It returns
   * whether one was found in force.
   */
  strike(plan: RequestPlan, decision: Decision): MaybePromise<boolean> {
    const struck = struckDescriptors(plan, decision)
    if (struck.length === 0) return false
    const strikes = this.#plan(plan, struck, ({ strikes }) => strikes)
    return anyOf(struck, (at, i) => this.#strikeOne(plan, at, strikes[i] ?? []))
  }

  /**
   * Counts one refusal, unless a block is in force, and imposes one with the last. A caller that has all refusals and
   * no block, because it was not written, is blocked now. A block that is there already takes no second hit, and so
   * keeps its end.
   */
  #strikeOne(plan: RequestPlan, at: number, strikes: readonly PlannedCharge[]): MaybePromise<boolean> {
    const looks = blocksOf(plan, at)
    if (strikes.length === 0 || looks.length === 0) return false
    return andThen(this.#limiter.decide([...strikes, ...looks].map(aside)), ({ allowed, verdicts }) => {
      this.#blocks.learn(looks, verdicts.slice(strikes.length))
      const isBlocked = verdicts.slice(strikes.length).some(({ verdict }) => !verdict.allowed)
      const isLast = verdicts.slice(0, strikes.length).some(({ verdict }) => isUsedUp(verdict))
      if (!isLast || isBlocked) return isBlocked
      // Of several refusals at the same time, one is the last: the others find no room, and make no further offence.
      const times = allowed ? this.#offence(plan, at) : 0
      return andThen(
        andThen(times, (count) => this.#impose(plan, at, count)),
        () => false,
      )
    })
  }

  /** Counts a block, and returns how many there have been before. */
  #offence(plan: RequestPlan, at: number): MaybePromise<number> {
    const [offences = []] = this.#plan(plan, [at], ({ offences }) => offences)
    if (offences.length === 0) return 0
    return andThen(this.#limiter.decide(offences.map(aside)), ({ verdicts }) => {
      const [{ verdict }] = verdicts
      return verdict.allowed ? Math.max(0, verdict.limit - verdict.remaining - 1) : verdict.limit
    })
  }

  #impose(plan: RequestPlan, at: number, times: number): MaybePromise<unknown> {
    const { blocks } = plan.limits[at].escalation as Escalation
    const block = blocksOf(plan, at, Math.min(times, blocks.length - 1))
    return andThen(this.#limiter.decide(block.map((charge) => aside({ ...charge, cost: 1 }))), ({ verdicts }) =>
      this.#blocks.imposed(block, verdicts),
    )
  }

  /** Returns the charges of something that is counted of the owners of some descriptors. */
  #plan(
    { limits, descriptors }: RequestPlan,
    of: readonly number[],
    prefixOf: (escalation: Escalation) => readonly Entry[] | undefined,
  ): readonly (readonly PlannedCharge[])[] {
    const asked = of.flatMap((at) => {
      const { escalation, prefix } = limits[at]
      const begin = prefixOf(escalation as Escalation)
      return begin === undefined
        ? []
        : [{ entries: [...begin, ...descriptors[at].entries.slice(prefix.length)], cost: 1 }]
    })
    if (asked.length === 0) return []
    const charges = this.#limiter.plan({ domain: GATEWAY_DOMAIN, descriptors: asked, cost: 1 })
    return isDecided(charges) ? [] : of.map((_, i) => charges.filter(({ descriptor }) => descriptor === i))
  }
}

/**
 * Returns a decision as callers see it: a block is not a budget, and is shown only to a blocked caller. Otherwise it
 * would be the tightest limit of all.
 */
export function withoutBlocks({ charges, limits }: RequestPlan, decision: Decision): Decision {
  if (!limits.some(({ isBlock }) => isBlock)) return decision
  const visible = decision.verdicts.filter(
    ({ verdict }, i) => !verdict.allowed || limits[charges[i]?.descriptor ?? -1]?.isBlock !== true,
  )
  return visible.length === decision.verdicts.length ? decision : combine(visible)
}

/** Returns the looks at the blocks of a limit, which stand behind it: all of them, or one. */
function blocksOf({ charges, limits }: RequestPlan, at: number, which?: number): readonly PlannedCharge[] {
  const count = limits[at].escalation?.blocks.length ?? 0
  return charges.filter(({ descriptor }) =>
    which === undefined ? descriptor > at && descriptor <= at + count : descriptor === at + 1 + which,
  )
}

/** Returns the descriptors of limits that refuse callers who are not blocked. */
function struckDescriptors(plan: RequestPlan, { verdicts }: Decision): readonly number[] {
  const { charges, limits } = plan
  const refused = new Set<number>()
  verdicts.forEach(({ rule, verdict }, i) => {
    // A refusal because the store is unavailable does not count against the caller.
    if (verdict.allowed || rule.shadow || verdict.fallback === 'closed') return
    refused.add(charges[i]?.descriptor ?? -1)
  })
  return [...refused].filter(
    (at) =>
      limits[at]?.escalation !== undefined && !blocksOf(plan, at).some(({ descriptor }) => refused.has(descriptor)),
  )
}

function aside(charge: PlannedCharge): PlannedCharge {
  return { ...charge, isAside: true }
}

function isUsedUp({ remaining, fallback }: Verdict): boolean {
  return remaining === 0 && fallback !== 'closed'
}

function anyOf<T>(list: readonly T[], run: (each: T, i: number) => MaybePromise<boolean>): MaybePromise<boolean> {
  const found = list.map(run)
  if (!found.some((each) => each instanceof Promise)) return found.includes(true)
  return Promise.all(found).then((all) => all.includes(true))
}
