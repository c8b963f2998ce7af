import type { Clock } from '../core/clock.ts'
import type { Decision } from '../core/combine.ts'
import { got, SluiceError } from '../core/errors.ts'
import type { CheckRequest } from '../core/request.ts'
import { compileObjects } from '../core/rules/compile.ts'
import type { RuleFile } from '../core/rules/schema.ts'
import { Limiter } from '../engine/limiter.ts'
import { MemoryStore } from '../stores/memory/memory-store.ts'
import { Permit } from './permit.ts'

export interface LimiterOptions {
  /** The rules, in the shape of a rule file: one domain, or several. */
  readonly rules: RuleFile | readonly RuleFile[]
  /** How many counters are kept at the most; about 41 bytes each. Default: 1,000,000. */
  readonly maxKeys?: number
  /** For tests and simulations. Default: the system's clock. */
  readonly clock?: Clock
}

/** createLimiter makes a limiter on rules, in memory: domains, descriptors, several rules on one request. */
export function createLimiter(options: LimiterOptions): RuleLimiter {
  return new RuleLimiter(options)
}

export class RuleLimiter {
  readonly #limiter: Limiter<MemoryStore>

  constructor(options: LimiterOptions) {
    const { rules, maxKeys, clock, ...unknown } = options
    for (const option of Object.keys(unknown)) throw new SluiceError('OPTION_UNKNOWN', option, 'no such option')
    const ruleSet = compileObjects(isList(rules) ? rules : [rules])
    const store = new MemoryStore({ ...(maxKeys !== undefined && { maxKeys }), ...(clock && { clock }) })
    this.#limiter = new Limiter(() => ruleSet, store)
  }

  /** check decides about a request at once; it charges every rule that matched, or none. */
  check(request: CheckRequest): Decision {
    checkShape(request)
    return this.#limiter.check(request)
  }

  /** acquire is check, and holds the places of `concurrency` rules until the permit is released. */
  acquire(request: CheckRequest): Permit<Decision> {
    checkShape(request)
    const { decision, lease } = this.#limiter.acquire(request)
    return new Permit(decision, decision.allowed && lease ? () => this.#limiter.release(lease) : undefined)
  }

  /** reset gives the caller of a request the whole budget again, in every rule that matches. */
  reset(request: CheckRequest): void {
    checkShape(request)
    this.#limiter.reset(request)
  }
}

function isList(rules: RuleFile | readonly RuleFile[]): rules is readonly RuleFile[] {
  return Array.isArray(rules)
}

/**
 * checkShape refuses what is not text. A caller without types may pass a number, which would miss rules for that value,
 * or undefined, which would put everybody without a value into one counter.
 */
function checkShape({ domain, descriptors }: CheckRequest): void {
  checkText(domain, () => 'domain')
  checkList(descriptors, () => 'descriptors')
  for (let i = 0; i < descriptors.length; i++) {
    const entries = descriptors[i]?.entries
    checkList(entries, () => `descriptors[${i}].entries`)
    for (let j = 0; j < entries.length; j++) {
      checkText(entries[j]?.key, () => `descriptors[${i}].entries[${j}].key`)
      checkText(entries[j]?.value, () => `descriptors[${i}].entries[${j}].value`)
    }
  }
}

function checkText(value: unknown, where: () => string): void {
  if (typeof value !== 'string') throw new SluiceError('REQUEST_INVALID', where(), got(value))
}

function checkList(value: unknown, where: () => string): void {
  if (!Array.isArray(value)) throw new SluiceError('REQUEST_INVALID', where(), got(value))
}
