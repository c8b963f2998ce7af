import { SluiceError } from 'sluice/internal/core/errors'
import type { RuleInput } from 'sluice/internal/core/rules/load'
import { RulesError } from 'sluice/internal/core/rules/problems'
import type { KeptRules } from './kept-rules.ts'
import { type SourceEvents, SourceFault } from './remote-source.ts'

/** StartOptions say what a service starts with whose rules are away or wrong. */
export interface StartOptions {
  /** Where the last good rules are kept from run to run. */
  readonly kept?: KeptRules | undefined
  /** It starts without rules of this source, where nothing was kept. Otherwise it does not start. */
  readonly startsEmpty?: boolean | undefined
  /** check throws a RulesError when rules are wrong by themselves. */
  check?(inputs: readonly RuleInput[]): void
  readonly events?: SourceEvents
}

/** firstOf returns what a start goes by: what was found, or what was kept, or nothing, or else what is wrong. */
export function firstOf(
  name: string,
  found: readonly RuleInput[] | SourceFault,
  options: StartOptions,
): readonly RuleInput[] | RulesError {
  const kept = options.kept?.read(name)
  const fallback = kept?.inputs ?? (options.startsEmpty ? [] : undefined)
  if (fallback === undefined) return found instanceof SourceFault ? awayError(name, found) : found
  const problem = found instanceof SourceFault ? awayError(name, found) : problemOf(found, options)
  if (problem === undefined) return found as readonly RuleInput[]
  if (kept !== undefined) options.events?.kept?.(name, kept.atMs, problem.message)
  else options.events?.empty?.(name, problem.message)
  return fallback
}

function problemOf(inputs: readonly RuleInput[], { check }: StartOptions): RulesError | undefined {
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
