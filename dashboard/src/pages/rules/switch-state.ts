import type { Asked } from '../../api/client.ts'
import type { RuleLimit, Switch } from '../../api/operations.ts'

export type Mode = Switch['mode']

/** A RuleName is what a switch names: null is every rule. */
export type RuleName = Switch['rule']

/** A RuleState is what a rule does now, and why: the rule, its switch, or the switch of all rules. */
export interface RuleState {
  readonly mode: Mode
  readonly by: 'rule' | 'switch' | 'all'
}

/** Switches are those in force, by what they name. */
export interface Switches {
  readonly all: Switch | undefined
  readonly ofRule: ReadonlyMap<string, Switch>
}

export const ruleKey = (domain: string, id: string): string => `${domain}/${id}`

export function switchesOf(items: readonly Switch[]): Switches {
  const ofRule = new Map<string, Switch>()
  let all: Switch | undefined
  for (const each of items) {
    if (each.rule === null) all = each
    else ofRule.set(ruleKey(each.rule.domain, each.rule.id), each)
  }
  return { all, ofRule }
}

export const NO_SWITCHES: Switches = { all: undefined, ofRule: new Map() }

/** ownSwitch is the switch of one rule, which names it by its id or by its name. */
export function ownSwitch(
  { ofRule }: Switches,
  domain: string,
  { id, name }: Pick<RuleLimit, 'id' | 'name'>,
): Switch | undefined {
  return ofRule.get(ruleKey(domain, id)) ?? ofRule.get(ruleKey(domain, name))
}

/** stateOf says what a rule does now. What is said of one goes before what is said of all. */
export function stateOf(
  switches: Switches,
  domain: string,
  limit: Pick<RuleLimit, 'id' | 'name' | 'is_shadow'>,
): RuleState {
  const own = ownSwitch(switches, domain, limit)
  if (own !== undefined) return { mode: own.mode, by: 'switch' }
  if (switches.all !== undefined) return { mode: switches.all.mode, by: 'all' }
  return { mode: limit.is_shadow ? 'shadow' : 'enforce', by: 'rule' }
}

export const MODE_WORDS: Readonly<Record<Mode, string>> = { enforce: 'Enforced', shadow: 'Shadow', off: 'Off' }

/** An UndoStep is the change that takes a switch back. */
export type UndoStep =
  | { readonly operation: 'putSwitch'; readonly asked: Asked<'putSwitch'> }
  | { readonly operation: 'removeSwitch'; readonly asked: Asked<'removeSwitch'> }

/** undoOf says how a switch is taken back: the one before is put again, or there was none and it is removed. */
export function undoOf(rule: RuleName, before: Switch | undefined, version: number | undefined): UndoStep {
  const match = version === undefined ? {} : { version }
  if (before !== undefined) {
    const { mode, reason } = before
    return { operation: 'putSwitch', asked: { ...match, body: { rule, mode, reason } } }
  }
  const query = rule === null ? {} : { domain: rule.domain, rule: rule.id }
  return { operation: 'removeSwitch', asked: { ...match, query } }
}
