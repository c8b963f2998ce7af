import type { Decision } from 'sluice/internal/core/combine'
import type { Verdict } from 'sluice/internal/core/decision'
import type { CheckRequest, RequestContext } from 'sluice/internal/core/request'
import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import type { Priority } from 'sluice/internal/core/shedding/priority'
import type { PlannedCharge } from 'sluice/internal/engine/charge'
import type { Held } from 'sluice/internal/engine/decider'
import type { LoadShedder } from 'sluice/internal/engine/load-shedder'
import type { MaybePromise } from 'sluice/internal/engine/ports'
import type { DescribedDomain } from 'sluice/internal/http-door/caller-descriptors'
import type { Settler } from 'sluice/internal/http-door/held-charges'

/** What the gate needs of the engine. */
export interface GatewayLimiter {
  /** Undefined where the rules in force do not have it. */
  domain(name: string): DescribedDomain | undefined
  /** Returns what a request charges, by the rules in force as `view` returns them. */
  plan(request: CheckRequest, view?: (rules: RuleSet) => RuleSet): readonly PlannedCharge[]
  hold(charges: readonly PlannedCharge[], context?: RequestContext, priority?: Priority): MaybePromise<Held>
  /** What sheds load, and wants to know what is in flight. */
  readonly shedder?: Pick<LoadShedder, 'began' | 'ended' | 'shedUpstream'> | undefined
  decide(charges: readonly PlannedCharge[]): MaybePromise<Decision>
  /** Returns the decision of a request about which its caller has found everything by looking. */
  conclude(charges: readonly PlannedCharge[], verdicts: readonly Verdict[], context?: RequestContext): Decision
  /** What gives back what hold took. */
  readonly decider: Settler
}
