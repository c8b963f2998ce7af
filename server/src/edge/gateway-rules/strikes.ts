import { combine, type Decision } from 'sluice/internal/core/combine'
import type { Verdict } from 'sluice/internal/core/decision'
import type { PlannedCharge } from 'sluice/internal/engine/charge'
import { andThen } from 'sluice/internal/engine/maybe'
import type { MaybePromise } from 'sluice/internal/engine/ports'
import type { GatewayLimiter } from './gateway-limiter.ts'
import { type Escalation, GATEWAY_DOMAIN } from './planned-route.ts'
import { isDecided, type RequestPlan } from './request-plan.ts'

/**
 * strike counts a refusal against those whom the limit blocks after some, and blocks who has had them all. A caller who is
 * blocked is not counted against: tries during a block neither lengthen it nor lead to the next one.
 */
export function strike(limiter: GatewayLimiter, plan: RequestPlan, decision: Decision): MaybePromise<unknown> {
  const struck = struckDescriptors(plan, decision)
  if (struck.length === 0) return undefined
  const strikes = struck.map((at) => {
    const { escalation, prefix } = plan.limits[at]
    const owner = plan.descriptors[at].entries.slice(prefix.length)
    return { entries: [...(escalation as Escalation).strikes, ...owner], cost: 1 }
  })
  const counters = limiter.plan({ domain: GATEWAY_DOMAIN, descriptors: strikes, cost: 1 })
  if (isDecided(counters)) return undefined
  return all(struck, (at, i) =>
    strikeOne(
      limiter,
      counters.filter(({ descriptor }) => descriptor === i),
      blockOf(plan, at),
    ),
  )
}

/**
 * withoutBlocks is a decision as callers are told of it: a block is nobody's budget, and only who is blocked hears of it.
 * Otherwise it would be the tightest limit of all.
 */
export function withoutBlocks({ charges, limits }: RequestPlan, decision: Decision): Decision {
  if (!limits.some(({ escalation }) => escalation !== undefined)) return decision
  const isBlock = (at: number): boolean => limits[at - 1]?.escalation?.block === limits[at]
  const told = decision.verdicts.filter(({ verdict }, i) => !verdict.allowed || !isBlock(charges[i]?.descriptor ?? 0))
  return told.length === decision.verdicts.length ? decision : combine(told)
}

/** The look at a block stands behind the limit that leads to it. */
function blockOf({ charges }: RequestPlan, at: number): readonly PlannedCharge[] {
  return charges.filter(({ descriptor }) => descriptor === at + 1)
}

/** struckDescriptors are those of limits that refuse callers who are not blocked. */
function struckDescriptors({ charges, limits }: RequestPlan, { verdicts }: Decision): readonly number[] {
  const refused = new Set<number>()
  verdicts.forEach(({ rule, verdict }, i) => {
    // What a store refuses because it is away is not counted against the caller.
    if (verdict.allowed || rule.shadow || verdict.fallback === 'closed') return
    refused.add(charges[i]?.descriptor ?? -1)
  })
  return [...refused].filter((at) => limits[at]?.escalation !== undefined && !refused.has(at + 1))
}

/**
 * strikeOne counts one refusal, unless a block is in force, and imposes one with the last. Who has all refusals and no block,
 * because it was not written, is blocked now. A block that is there already takes no second hit, and so keeps its end.
 */
function strikeOne(
  limiter: GatewayLimiter,
  strikes: readonly PlannedCharge[],
  block: readonly PlannedCharge[],
): MaybePromise<unknown> {
  if (strikes.length === 0 || block.length === 0) return undefined
  return andThen(limiter.decide([...strikes, ...block]), ({ verdicts }) => {
    const isBlocked = verdicts.slice(strikes.length).some(({ verdict }) => !verdict.allowed)
    const isLast = verdicts.slice(0, strikes.length).some(({ verdict }) => isUsedUp(verdict))
    return isLast && !isBlocked ? limiter.decide(block.map((charge) => ({ ...charge, cost: 1 }))) : undefined
  })
}

function isUsedUp({ remaining, fallback }: Verdict): boolean {
  return remaining === 0 && fallback !== 'closed'
}

function all<T>(list: readonly T[], run: (each: T, i: number) => MaybePromise<unknown>): MaybePromise<unknown> {
  const done = list.map(run).filter((each) => each instanceof Promise)
  return done.length === 0 ? undefined : Promise.all(done)
}
