import type { KeyEncoder } from 'sluice/internal/core/key-encoder'
import type { Entry } from 'sluice/internal/core/request'
import type { Domain, PathStep } from 'sluice/internal/core/rules/rule-set'
import type { PlannedCharge } from 'sluice/internal/engine/charge'

const MAX_NAME = 64
const MAX_KIND = 256
const MAX_KEY = 512

/** Returns what a key is made of: the keys of its entries, as in `api_key/endpoint`. */
export function kindOf(entries: readonly Entry[]): string {
  return short(entries.map(({ key }) => short(key, MAX_NAME)).join('/'), MAX_KIND)
}

/** What is said of a value that no rule is about. */
const OPEN_STEP: PathStep = Object.freeze({
  isOpen: true,
  wildcard: undefined,
  secret: false,
  sharedAs: undefined,
  detailedMetric: false,
  valueToMetric: false,
  metadata: undefined,
})

/**
 * Formats whom a charge is about: `api_key=sk_l~0123456789abcdef|endpoint=/v1`. Values are encoded as in keys of
 * counters, secrets and long ones as a keyed hash; a value is secret if any rule of the domain says so.
 */
export function shownKey(
  { rule, entries, blocked }: Pick<PlannedCharge, 'rule' | 'entries' | 'blocked'>,
  domain: Pick<Domain, 'secretKeys'> | undefined,
  keys: KeyEncoder,
): string {
  const path = blocked === undefined ? rule.path : blocked.map(() => OPEN_STEP)
  const shown = path.map((step, i) => {
    const { key, value } = entries[i]
    const secret = step.secret || domain?.secretKeys.has(key) === true
    return `${short(key, MAX_NAME)}=${keys.value(value, secret === step.secret ? step : { ...step, secret })}`
  })
  return short(shown.join('|'), MAX_KEY)
}

export function short(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text
}
