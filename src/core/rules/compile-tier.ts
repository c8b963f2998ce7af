import { checkSchema } from './check-schema.ts'
import { TreeCompiler } from './compile-tree.ts'
import { Problems } from './problems.ts'
import { objectDocument } from './rule-document.ts'
import type { Domain, Rule, RuleNode } from './rule-set.ts'

/** A tier as it stands below `tiers: NAME:` in a rule file, and what errors are to call it. */
export interface TierText {
  readonly name: string
  readonly limits: unknown
  readonly where: string
}

/**
 * Compiles a tier that is not in the rule files, for a tiered pattern of a domain that was compiled before: by the
 * domain's defaults, in the pattern's mode, on the pattern's counters. It throws a RulesError with everything that is
 * wrong.
 */
export function compileTier(
  domain: Pick<Domain, 'name' | 'defaults'>,
  tiered: RuleNode,
  { name, limits, where }: TierText,
): RuleNode {
  const problems = new Problems()
  const tiers = new Map([[name, limits]])
  const source = objectDocument(where, { domain: domain.name, tiers: Object.fromEntries(tiers) })
  const tier = checkSchema(source, problems)?.tiers?.[name]
  problems.throwIfAny()
  const named = new Map(tier === undefined ? [] : [[name, { tier, source }]])
  const compiler = new TreeCompiler(named, { values: domain.defaults, locate: () => undefined }, problems)
  const node = compiler.tiersFor(tiered, modesOf(tiered)).get(name)
  problems.throwIfAny()
  return node ?? tiered
}

/** Returns how the limits of a tiered pattern count: all of them alike, whichever tier they are in. */
function modesOf({ rules, tiers }: RuleNode): Pick<Rule, 'shadow' | 'quota'> {
  const some = rules[0] ?? [...(tiers?.values() ?? [])].flatMap((set) => set.rules)[0]
  return some ?? { shadow: false, quota: false }
}
