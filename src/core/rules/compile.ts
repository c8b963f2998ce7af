import { addErrorRules } from '../errors.ts'
import { OPTIONAL_RULES } from '../library-error-rules.ts'
import type { LimitDefaults } from '../limit-options.ts'
import { checkSchema } from './check-schema.ts'
import { type Level, type Tiers, TreeCompiler } from './compile-tree.ts'
import { domainDefaults } from './limit-defaults.ts'
import { Problems } from './problems.ts'
import { objectDocument, type RuleDocument } from './rule-document.ts'
import type { Domain, RuleSet } from './rule-set.ts'
import { rulesVersion } from './rules-version.ts'
import type { RuleFile, TierRule } from './schema.ts'

export interface CompileOptions {
  /** Files of the same domain make one set of rules. Default: the second one is an error. */
  readonly mergeDomains?: boolean
  /** Defaults for limits in domains that have none. Default: the language's defaults. */
  readonly defaults?: LimitDefaults
}

/** One domain, and the values of the files that it was made of. */
export interface CompiledDomain {
  readonly files: readonly unknown[]
  readonly domain: Domain
  readonly ruleCount: number
}

/** Domains that are known from before, under the same options, and where those of this time are put. */
export interface CompileMemory {
  readonly known?: ReadonlyMap<string, CompiledDomain>
  readonly compiled?: Map<string, CompiledDomain>
}

/** Returns the set that limits nothing. */
export const NO_RULES: RuleSet = Object.freeze({ domains: new Map(), ruleCount: 0, version: rulesVersion([]) })

interface CheckedSource {
  readonly source: RuleDocument
  readonly file: RuleFile
}

/** Checks rule files together and turns them into one RuleSet. It throws a RulesError with all errors. */
export function compileRules(
  sources: readonly RuleDocument[],
  options: CompileOptions = {},
  { known, compiled }: CompileMemory = {},
): RuleSet {
  const problems = new Problems()
  const byDomain = new Map<string, CheckedSource[]>()
  for (const source of sources) {
    const file = isKnown(source, known) ? (source.value as RuleFile) : checkSchema(source, problems)
    if (file !== undefined) addToDomain(byDomain, { source, file }, options, problems)
  }
  let ruleCount = 0
  const domains = new Map<string, Domain>()
  for (const [name, files] of byDomain) {
    const before = known?.get(name)
    const made = before !== undefined && isOf(before, files) ? before : compileDomain(name, files, options, problems)
    compiled?.set(name, made)
    domains.set(name, made.domain)
    ruleCount += made.ruleCount
  }
  problems.throwIfAny()
  const version = rulesVersion([...byDomain.values()].flatMap((files) => files.map(({ file }) => file)))
  return Object.freeze({ domains, ruleCount, version })
}

/** Returns whether a domain was made of exactly these files. */
function isOf({ files: before }: CompiledDomain, files: readonly CheckedSource[]): boolean {
  return before.length === files.length && files.every(({ source }, i) => source.value === before[i])
}

/** Returns whether a file is one that a domain was made of: it was checked then. */
function isKnown({ value }: RuleDocument, known: CompileMemory['known']): boolean {
  if (known === undefined || typeof value !== 'object' || value === null) return false
  return known.get((value as RuleFile).domain)?.files.includes(value) === true
}

function compileDomain(
  name: string,
  files: readonly CheckedSource[],
  options: CompileOptions,
  problems: Problems,
): CompiledDomain {
  const given = files.map(({ source, file }) => ({ source, defaults: file.defaults ?? undefined }))
  const defaults = domainDefaults(given, options.defaults ?? {}, problems)
  const tree = new TreeCompiler(tiersOf(files, problems), defaults, problems)
  tree.checkTiers()
  const domain = domainOf(name, files, tree, defaults.values, problems)
  return { files: files.map(({ source }) => source.value), domain, ruleCount: tree.ruleCount }
}

/** Compiles rules that are given as objects. */
export function compileObjects(files: readonly RuleFile[]): RuleSet {
  addErrorRules(OPTIONAL_RULES)
  return compileRules(files.map((file, i) => objectDocument(`rules[${i}]`, file)))
}

function addToDomain(
  byDomain: Map<string, CheckedSource[]>,
  checked: CheckedSource,
  options: CompileOptions,
  problems: Problems,
): void {
  const { domain } = checked.file
  const others = byDomain.get(domain)
  if (others === undefined) byDomain.set(domain, [checked])
  else if (options.mergeDomains === true) others.push(checked)
  else {
    const detail = `${JSON.stringify(domain)} is already defined at ${others[0].source.locate(['domain'])}`
    problems.add('RULE_DUPLICATE_DOMAIN', checked.source.locate(['domain']), detail)
  }
}

function tiersOf(files: readonly CheckedSource[], problems: Problems): Tiers {
  const tiers = new Map<string, { tier: TierRule; source: RuleDocument }>()
  for (const { source, file } of files) {
    for (const [name, tier] of Object.entries(file.tiers ?? {})) {
      const before = tiers.get(name)
      if (before === undefined) tiers.set(name, { tier, source })
      else {
        const detail = `tier ${JSON.stringify(name)} is already defined at ${before.source.locate(['tiers', name], 'key')}`
        problems.add('RULE_DUPLICATE_KEY', source.locate(['tiers', name], 'key'), detail)
      }
    }
  }
  return tiers
}

function domainOf(
  name: string,
  files: readonly CheckedSource[],
  tree: TreeCompiler,
  defaults: LimitDefaults,
  problems: Problems,
): Domain {
  const modes = new Set(files.map(({ file }) => file.evaluate ?? 'leaf'))
  if (modes.size > 1) {
    const last = files[files.length - 1].source
    problems.add('RULE_COMBINATION', last.locate(['evaluate']), 'evaluate differs between files of one domain')
  }
  const levels = files.map(({ source, file }): Level => {
    return { source, at: ['descriptors'], descriptors: file.descriptors ?? [] }
  })
  const versions = files.map(({ file }) => file.version).filter((version) => version !== undefined)
  return Object.freeze({
    name,
    root: tree.root(levels),
    secretKeys: tree.secretKeys,
    evaluatePath: modes.has('path'),
    hasTiers: files.some(({ file }) => file.tiers !== undefined),
    version: versions.length === 0 ? undefined : versions.join(', '),
    defaults,
  })
}
