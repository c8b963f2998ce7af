import type { Decision } from 'sluice/internal/core/combine'
import type { KeySpeller } from 'sluice/internal/core/key-speller'
import { MAX_COUNT } from 'sluice/internal/core/limit'
import type { Entry, RequestContext } from 'sluice/internal/core/request'
import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import type { PlannedCharge } from 'sluice/internal/engine/charge'
import { type DecisionReason, decisiveOf, reasonOf, tellsRefusal } from './decision-reason.ts'
import type { DoorObserver, ObservedDoor } from './door-observer.ts'
import { kindOf, short, shownKey } from './shown-entries.ts'

const MAX_DOMAIN = 128

export interface DecisionLogOptions {
  /** Refusals that are told in a second. Those beyond are counted, and the next line says how many. 0: none is told or counted. */
  readonly refusalsPerSecond: number
  /** The share of all other decisions that is told, from 0 to 1. */
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
  readonly keys: KeySpeller
  /** Takes a line, or returns false where there is no room for it. */
  readonly write: (line: string) => boolean
}

/** DecisionLog tells of decisions in lines of JSON: of refusals up to a rate, and of a share of the others. */
export class DecisionLog implements DoorObserver {
  readonly #options: DecisionLogOptions
  readonly #parts: DecisionLogParts
  readonly #now: () => number
  readonly #random: () => number
  #second = 0
  #toldInSecond = 0
  #dropped = 0
  #telling: NodeJS.Timeout | undefined
  /** The last request, or descriptor, that no rule is about: `decided` follows at once. */
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
    door: ObservedDoor,
    charges: readonly PlannedCharge[],
    decision: Decision,
    ms: number,
    context: RequestContext | undefined,
  ): void {
    if (!this.#isTold(decision)) return
    const about = charges.length === 0 ? this.#aboutNobody() : this.#about(charges, decision)
    const line = lineOf({
      time: new Date(this.#now()).toISOString(),
      door,
      ...about,
      region: this.#options.region,
      latency_us: Math.round(ms * 1_000),
      rules: this.#parts.rules().version,
      trace_id: context?.traceId,
      dropped: this.#dropped === 0 ? undefined : this.#dropped,
    })
    if (this.#parts.write(line)) this.#dropped = 0
    else this.#drop()
  }

  /** close tells what no line has told. */
  close(): void {
    clearTimeout(this.#telling)
    this.#tellDropped()
    clearTimeout(this.#telling)
  }

  /** #drop counts a line that is not written. If none follows that could tell it, one of its own does, after a second. */
  #drop(): void {
    this.#dropped++
    this.#telling ??= setTimeout(() => this.#tellDropped(), 1_000).unref()
  }

  #tellDropped(): void {
    this.#telling = undefined
    if (this.#dropped === 0) return
    const time = new Date(this.#now()).toISOString()
    const line = lineOf({ time, region: this.#options.region, dropped: this.#dropped })
    if (this.#parts.write(line)) this.#dropped = 0
    else this.#telling = setTimeout(() => this.#tellDropped(), 1_000).unref()
  }

  #isTold(decision: Decision): boolean {
    if (!tellsRefusal(decision)) return this.#options.share > 0 && this.#random() < this.#options.share
    if (this.#options.refusalsPerSecond === 0) return false
    const second = Math.floor(this.#now() / 1_000)
    if (second !== this.#second) {
      this.#second = second
      this.#toldInSecond = 0
    }
    if (++this.#toldInSecond <= this.#options.refusalsPerSecond) return true
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

  /** #aboutNobody tells what no rule is about, without a value: nobody has said which of them are secret. */
  #aboutNobody(): About {
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

/** What JSON leaves as it is, and a terminal or a reader of lines may obey: C1 controls, separators, changes of direction. */
const OBEYED = /[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g

function lineOf(record: object): string {
  const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
  return `${JSON.stringify(record).replace(OBEYED, escaped)}\n`
}
