import type { LimitDefaults } from 'sluice/internal/core/limit-options'
import type { CompileOptions } from 'sluice/internal/core/rules/compile'
import { CountedLooks } from 'sluice/internal/engine/counted-looks'
import type { LimiterParts } from 'sluice/internal/engine/limiter'
import type { Store } from 'sluice/internal/engine/ports'

/** The services whose answers Sluice can give in place of its normal ones. */
export const COMPATIBILITIES = ['envoyproxy-ratelimit'] as const

export type Compatibility = (typeof COMPATIBILITIES)[number]

/** The limits of envoyproxy/ratelimit. A rule, or the defaults of its domain, may override them. */
const REFERENCE_LIMITS: LimitDefaults = { algorithm: 'fixed_window', count_denied: true, consistency: 'exact' }

/** What a Config says of it. */
export interface CompatibilityConfig {
  readonly compatibility: Compatibility | undefined
  /** STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT: a limit that refuses keeps the others of the request from counting. */
  readonly stopsWhenOverLimit: boolean
}

/** Returns what rule files are compiled with. */
export function compileOptionsOf(
  mergeDomains: boolean,
  compatibility: Compatibility | undefined,
): Required<CompileOptions> {
  return { mergeDomains, defaults: compatibility === undefined ? {} : REFERENCE_LIMITS }
}

/** Returns how the limits of a request are charged. */
export function limiterPartsOf({
  compatibility,
  stopsWhenOverLimit,
}: CompatibilityConfig): Pick<LimiterParts, 'apart' | 'quotasBind' | 'overrides'> {
  if (compatibility === undefined) return {}
  return {
    apart: !stopsWhenOverLimit,
    quotasBind: stopsWhenOverLimit,
    overrides: { limit: { algorithm: 'fixed_window', countDenied: true }, sharesCounters: true },
  }
}

/** Returns the store in the form that its limiter uses. */
export function storeFor({ compatibility }: Pick<CompatibilityConfig, 'compatibility'>, store: Store): Store {
  return compatibility === undefined ? store : new CountedLooks(store)
}

/** Describes the mode, for people. */
export function compatibilityLine(compatibility: Compatibility): string {
  return `compatibility: ${compatibility}; limits that do not say otherwise count in fixed windows, refused hits included`
}
