import type { KeyEncoder } from 'sluice/internal/core/key-encoder'
import type { Entry } from 'sluice/internal/core/request'
import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import type { PlannedCharge } from 'sluice/internal/engine/charge'
import { shownKey } from '../shown-entries.ts'

/** Who is behind an entry, as the quotas know it. */
export interface KnownCaller {
  readonly customerId: string | undefined
  readonly keyId: string | undefined
}

export interface CallerNamesParts {
  readonly rules: () => RuleSet
  readonly keys: KeyEncoder
  /** Entries whose values are API keys, which are not shown. */
  readonly secretKeys: readonly string[]
  readonly callerOf: (entry: Entry) => KnownCaller | undefined
}

const UNKNOWN_CALLER: KnownCaller = { customerId: undefined, keyId: undefined }

/** Returns whom a charge is about: the customer and key, if known, and a text that may be shown. */
export class CallerNames {
  readonly #parts: CallerNamesParts

  constructor(parts: CallerNamesParts) {
    this.#parts = parts
  }

  of(charge: PlannedCharge): KnownCaller & { readonly key: string } {
    const { rules, keys, secretKeys } = this.#parts
    const known = rules().domains.get(charge.domain)
    const hidden = { secretKeys: new Set([...(known?.secretKeys ?? []), ...secretKeys]) }
    return { ...this.callerOf(charge), key: shownKey(charge, hidden, keys) }
  }

  callerOf(charge: Pick<PlannedCharge, 'entries'>): KnownCaller {
    return this.callersIn(charge)[0] ?? UNKNOWN_CALLER
  }

  /** Returns the callers of all entries: a descriptor may name a customer and an API key. */
  callersIn({ entries }: Pick<PlannedCharge, 'entries'>): readonly KnownCaller[] {
    return entries.flatMap((entry) => this.#parts.callerOf(entry) ?? [])
  }
}

/** Returns how many characters entries have. */
export function sizeOf(entries: readonly Entry[]): number {
  let size = 0
  for (const { key, value } of entries) size += key.length + value.length
  return size
}
