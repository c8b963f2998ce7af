import type { RuleInput } from 'sluice/internal/core/rules/load'

/** What a process decides by. */
export interface InForce {
  /** The revision of its records; -1: it has none yet. */
  readonly revision: number
  /** The version of the rules in the database; 0: there are none, or none yet. */
  readonly rules: number
}

export const NOTHING_IN_FORCE: InForce = Object.freeze({ revision: -1, rules: 0 })

/** Returns what all of several processes have: the least of each. Without any process that is nothing. */
export function leastOf(processes: readonly InForce[]): InForce {
  if (processes.length === 0) return NOTHING_IN_FORCE
  return {
    revision: Math.min(...processes.map(({ revision }) => revision)),
    rules: Math.min(...processes.map(({ rules }) => rules)),
  }
}

/** Returns whether a process has at least what is asked for. Later records and rules contain the earlier ones. */
export function hasReached(now: InForce, target: InForce): boolean {
  return now.revision >= target.revision && now.rules >= target.rules
}

/** What inputs from the database are called, in errors too, before their version. */
export const RULES_TABLE = 'rules table'

/** Returns the version of the rules in the database that some inputs contain; 0: none. */
export function tableVersionIn(inputs: readonly RuleInput[]): number {
  const prefix = `${RULES_TABLE}, version `
  const found = inputs.find(({ file }) => file.startsWith(prefix))
  return found === undefined ? 0 : Number(found.file.slice(prefix.length))
}
