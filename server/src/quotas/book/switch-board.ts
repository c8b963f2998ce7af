import type { Rule } from 'sluice/internal/core/rules/rule-set'
import type { SwitchLookup } from 'sluice/internal/engine/quotas'
import type { RuleSwitch } from '../model.ts'

/** SwitchBoard is what rules are told to do, whatever they say themselves. What is said of one goes before what is said of all. */
export class SwitchBoard {
  readonly #byId = new Map<string, RuleSwitch>()

  get isEmpty(): boolean {
    return this.#byId.size === 0
  }

  put(id: string, record: RuleSwitch | undefined): void {
    if (record === undefined) this.#byId.delete(id)
    else this.#byId.set(id, record)
  }

  /** find is the SwitchLookup of these: by the id of a rule, or the name that it has. */
  readonly find: SwitchLookup = (domain: string, { id, name }: Rule) => {
    const own = this.#byId.get(`${domain}/${id}`) ?? (name === id ? undefined : this.#byId.get(`${domain}/${name}`))
    return (own ?? this.#byId.get(ALL))?.mode
  }
}

const ALL = '*'

/** switchId is the key of a switch among the records. */
export function switchId({ rule }: Pick<RuleSwitch, 'rule'>): string {
  return rule === undefined ? ALL : `${rule.domain}/${rule.id}`
}
