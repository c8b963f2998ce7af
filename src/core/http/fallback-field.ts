import type { RuleVerdict } from '../combine.ts'

/**
 * The field of an answer that says that rules decided without the store, and how. It is not there when all asked the
 * store.
 */
export const FALLBACK_FIELD = 'Sluice-Fallback'

const BITS = { closed: 1, open: 2, local: 4 } as const

/** Every combination, by its bits: what refuses comes first. */
const VALUES = Array.from({ length: 8 }, (_, bits) =>
  Object.entries(BITS)
    .filter(([, bit]) => (bits & bit) !== 0)
    .map(([mode]) => mode)
    .join(', '),
)

/**
 * Returns the value of Sluice-Fallback: a List of Tokens (RFC 9651), each of `closed`, `open` and `local` once.
 * Undefined when the store decided everything. Shadow rules do not count: they decide nothing. It allocates nothing.
 */
export function fallbackValue(verdicts: readonly RuleVerdict[]): string | undefined {
  let bits = 0
  for (let i = 0; i < verdicts.length; i++) {
    const { rule, verdict } = verdicts[i]
    if (verdict.fallback !== undefined && !rule.shadow) bits |= BITS[verdict.fallback]
  }
  return bits === 0 ? undefined : VALUES[bits]
}
