import { SluiceError } from 'sluice/internal/core/errors'
import type { RuleInput } from 'sluice/internal/core/rules/load'
import { RulesError } from 'sluice/internal/core/rules/problems'
import type { Kept, KeptRules } from './kept-rules.ts'
import type { SourceEvents, SourceFault } from './remote-source.ts'

/** What a service starts with when its rules are unavailable or wrong. */
export interface StartOptions {
  /** Where the last good rules are kept from run to run. */
  readonly kept?: KeptRules | undefined
  /** It starts without rules of this source, where nothing was kept. Otherwise it does not start. */
  readonly startsEmpty?: boolean | undefined
  /** Throws a RulesError when rules are invalid. */
  check?(inputs: readonly RuleInput[]): void
  readonly events?: SourceEvents
}

/** What a start goes by in the place of rules that are not there. */
export interface Fallback<T extends RuleInput> {
  readonly inputs: readonly T[]
  /** Reports that it is used, and why. */
  log(problem: RulesError): void
}

/** Returns what was kept of a source, or nothing where that may be, or else undefined. */
export async function fallbackOf<T extends RuleInput>(
  name: string,
  { kept, startsEmpty, events }: StartOptions,
  restored: (kept: Kept) => Promise<readonly T[]>,
): Promise<Fallback<T> | undefined> {
  const found = kept?.read(name)
  const inputs = found && (await restored(found).catch(() => undefined))
  if (found !== undefined && inputs !== undefined) {
    return { inputs, log: ({ message }) => events?.kept?.(name, found.atMs, message) }
  }
  return startsEmpty ? { inputs: [], log: ({ message }) => events?.empty?.(name, message) } : undefined
}

/** Returns what is wrong with rules. */
export function problemOf(inputs: readonly RuleInput[], { check }: StartOptions): RulesError | undefined {
  try {
    check?.(inputs)
    return undefined
  } catch (error) {
    if (error instanceof RulesError) return error
    throw error
  }
}

export function awayError(name: string, { message }: SourceFault): RulesError {
  return new RulesError([new SluiceError('RULES_AWAY', name, message)])
}
