import type { Decision } from 'sluice/internal/core/combine'
import type { KeyEncoder } from 'sluice/internal/core/key-encoder'
import { MAX_COUNT } from 'sluice/internal/core/limit'
import type { Entry, RequestContext } from 'sluice/internal/core/request'
import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import type { PlannedCharge } from 'sluice/internal/engine/charge'
import { type DecisionReason, decisiveOf, hasRefusal, reasonOf } from './decision-reason.ts'
import type { DoorObserver, ObservedDoor } from './door-observer.ts'
import { kindOf, short, shownKey } from './shown-entries.ts'

const MAX_DOMAIN = 128

export interface DecisionLogOptions {
  /**
   * Refusals that are logged per second. Those beyond are counted, and the next line has their number. 0: none is
   * logged or counted.
   */
  readonly refusalsPerSecond: number
  /** The share of all other decisions that is logged, from 0 to 1. */
  readonly share: number
  readonly region?: string | undefined
  /** Requests pass that rules refuse (SHADOW_MODE). */
  readonly shadowMode?: boolean
  readonly now?: () => number
  readonly random?: () => number
}

/** What a DecisionLog needs: the rules in force, how values may be shown, and where lines go. */
export interface DecisionLogParts {
  readonly rules: () => RuleSet
  readonly keys: KeyEncoder
  /** Takes a line, or returns false where there is no room for it. */
  readonly write: (line: string) => boolean
}

/** Logs decisions as lines of JSON: refusals up to a rate, and a share of the others. */
export class DecisionLog implements DoorObserver {
  readonly #options: DecisionLogOptions
  readonly #parts: DecisionLogParts
  readonly #now: () => number
  readonly #random: () => number
  #second = 0
  #loggedInSecond = 0
  #dropped = 0
  #reporting: NodeJS.Timeout | undefined
  /** The last request, or descriptor, that no rule matches: `decided` follows immediately. */
  #unmatched: readonly Entry[] | undefined
  #domain = ''
  #isKnown = false

  constructor(options: DecisionLogOptions, parts: DecisionLogParts) {
    this.#options = options
    this.#parts = parts
    this.#now = options.now ?? Date.now
    this.#random = options.random ?? Math.random
  }

  unmatched(domain: string, entries: readonly Entry[], isKnown: boolean): void {
    this.#domain = domain
    this.#unmatched = entries
    this.#isKnown = isKnown
  }

  decided(
    /** Undefined for a decision of a replay, which came through none. */
    door: ObservedDoor | undefined,
    charges: readonly PlannedCharge[],
    decision: Decision,
    /** NaN where that says nothing. */
    ms: number,
    context: RequestContext | undefined,
  ): void {
    if (!this.#isLogged(decision)) return
    const about = charges.length === 0 ? this.#aboutUnmatched() : this.#about(charges, decision)
    const line = lineOf({
      time: new Date(this.#now()).toISOString(),
      door,
      ...about,
      region: this.#options.region,
      latency_us: Number.isNaN(ms) ? undefined : Math.round(ms * 1_000),
      rules: this.#parts.rules().version,
      trace_id: context?.traceId,
      dropped: this.#dropped === 0 ? undefined : this.#dropped,
    })
    if (this.#parts.write(line)) this.#dropped = 0
    else this.#drop()
  }

  /** Logs the refusals that no line has counted yet. */
  close(): void {
    clearTimeout(this.#reporting)
    this.#reportDropped()
    clearTimeout(this.#reporting)
  }

  /**
   * Counts a line that is not written. If no line follows that could report it, a separate one does, after a second.
   */
  #drop(): void {
    this.#dropped++
    this.#reporting ??= setTimeout(() => this.#reportDropped(), 1_000).unref()
  }

  #reportDropped(): void {
    this.#reporting = undefined
    if (this.#dropped === 0) return
    const time = new Date(this.#now()).toISOString()
    const line = lineOf({ time, region: this.#options.region, dropped: this.#dropped })
    if (this.#parts.write(line)) this.#dropped = 0
    else this.#reporting = setTimeout(() => this.#reportDropped(), 1_000).unref()
  }

  #isLogged(decision: Decision): boolean {
    if (!hasRefusal(decision)) return this.#options.share > 0 && this.#random() < this.#options.share
    if (this.#options.refusalsPerSecond === 0) return false
    const second = Math.floor(this.#now() / 1_000)
    if (second !== this.#second) {
      this.#second = second
      this.#loggedInSecond = 0
    }
    if (++this.#loggedInSecond <= this.#options.refusalsPerSecond) return true
    this.#drop()
    return false
  }

  #about(charges: readonly PlannedCharge[], decision: Decision): About {
    const decisive = decisiveOf(decision)
    const charge = charges[Math.max(decisive === undefined ? 0 : decision.verdicts.indexOf(decisive), 0)]
    const { shadowMode = false } = this.#options
    const { rule, domain, entries, cost } = charge
    return {
      domain: short(domain, MAX_DOMAIN),
      rule: rule.id,
      key_kind: kindOf(entries.slice(0, rule.path.length)),
      key: shownKey(charge, this.#parts.rules().domains.get(domain), this.#parts.keys),
      // A cost that is too much for any limit is infinite, which JSON cannot say.
      cost: Math.min(cost, MAX_COUNT + 1),
      outcome: decision.allowed || shadowMode ? 'allowed' : 'refused',
      reason: decisive === undefined ? 'no_limit' : reasonOf(decisive, shadowMode),
      fallback: decision.verdicts.find(({ verdict }) => verdict.fallback !== undefined)?.verdict.fallback,
    }
  }

  /** Describes what no rule matches, without a value: which of them are secret is unknown. */
  #aboutUnmatched(): About {
    const domain = this.#unmatched === undefined ? undefined : short(this.#domain, MAX_DOMAIN)
    const reason = this.#unmatched === undefined || this.#isKnown ? 'no_rule' : 'unknown_domain'
    return { domain, key_kind: kindOf(this.#unmatched ?? []), outcome: 'allowed', reason }
  }
}

interface About {
  readonly domain: string | undefined
  readonly rule?: string
  readonly key_kind: string
  readonly key?: string
  readonly cost?: number
  readonly outcome: 'allowed' | 'refused'
  readonly reason: DecisionReason
  readonly fallback?: 'open' | 'closed' | 'local' | undefined
}

/**
 * What JSON leaves as it is, and a terminal or a reader of lines may obey: C1 controls, separators, changes of
 * direction.
 */
const OBEYED = /[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g

function lineOf(record: object): string {
  const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
  return `${JSON.stringify(record).replace(OBEYED, escaped)}\n`
}
