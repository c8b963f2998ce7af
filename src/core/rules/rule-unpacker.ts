import type { Limit } from '../limit.ts'
import { CidrIndex } from './cidr-index.ts'
import { limitId } from './compile-tree.ts'
import type { IndexArray, PackedDomain, PackedNode, PackedRecord, RulePart, RuleSettings } from './packed-rules.ts'
import type { Branch, Domain, PathStep, Rule, RuleNode, RuleSet } from './rule-set.ts'
import { compileRuleLimit } from './shared-parts.ts'
import { type FiledTrie, WildcardIndex } from './wildcard-index.ts'

type OpenBranch = { -readonly [Part in keyof Branch]: Branch[Part] } & { readonly exact: Map<string, RuleNode> }

const NO_PATH: readonly PathStep[] = Object.freeze([])
const NO_BRANCHES: ReadonlyMap<string, Branch> = new Map()

/** Makes rules of the parts that packRules made of others, part by part: none takes longer than a moment. */
export class RuleUnpacker {
  readonly #limits: Limit[] = []
  readonly #steps: PathStep[] = []
  readonly #paths: (readonly PathStep[])[] = []
  readonly #settings: RuleSettings[] = []
  readonly #nodes: RuleNode[] = []
  readonly #branches: (Map<string, Branch> | undefined)[] = []
  readonly #tiers: (Map<string, RuleNode> | undefined)[] = []
  readonly #domains = new Map<string, Domain>()
  /** The branch that records are about, and the arrays of its index. */
  #branch: OpenBranch = { exact: new Map(), blocks: undefined, wildcards: undefined, any: undefined }
  #arrays: IndexArray[] = []
  #rules: RuleSet | undefined

  /** Takes the next part. It returns the rules when that was the last. */
  add(part: RulePart): RuleSet | undefined {
    for (const record of part) this.#take(record)
    return this.#rules
  }

  #take(record: PackedRecord): void {
    switch (record[0]) {
      case 'limit':
        this.#limits.push(compileRuleLimit(record[1]))
        break
      case 'step':
        this.#steps.push(stepOf(record[1]))
        break
      case 'path':
        this.#paths.push(Object.freeze([...this.#pathOf(record[1]), this.#steps[record[2]]]))
        break
      case 'settings':
        this.#settings.push(record[1])
        Object.freeze(record[1].cost)
        Object.freeze(record[1].response)
        break
      case 'node':
        this.#addNode(record[1])
        break
      case 'branch':
        this.#openBranch(record[1], record[2], record[3])
        break
      case 'exact':
        for (const [i, value] of record[1].entries()) this.#branch.exact.set(value, this.#nodes[record[2][i]])
        break
      case 'tiers':
        for (const [i, name] of record[2].entries()) this.#tiers[record[1]]?.set(name, this.#nodes[record[3][i]])
        break
      case 'domain':
        this.#addDomain(record[1])
        break
      case 'end':
        this.#rules = Object.freeze({ domains: this.#domains, ruleCount: record[1], version: record[2] })
        break
      default:
        this.#takeIndex(record)
    }
  }

  #takeIndex(record: IndexRecord): void {
    switch (record[0]) {
      case 'block':
        this.#branch.blocks ??= new CidrIndex()
        this.#branch.blocks.add({ base: record[1], bits: record[2] }, this.#nodes[record[3]])
        break
      case 'wildcard':
        this.#branch.wildcards ??= new WildcardIndex()
        this.#branch.wildcards.add(record[1], this.#nodes[record[2]])
        break
      case 'array':
        this.#arrays.push(arrayLike(record[1], record[2]))
        break
      case 'array-part':
        this.#arrays[this.#arrays.length - 1].set(record[2], record[1])
        break
      case 'blocks-end': {
        const arrays = this.#takeArrays()
        const ranges = () => ({ starts: arrays.next() as Uint32Array, blocks: arrays.next() as Int32Array })
        this.#branch.blocks?.seal({ v4: ranges(), v6: ranges() })
        break
      }
      case 'wildcards-end': {
        const arrays = this.#takeArrays()
        const [starts, ends, middles] = record[1].map((isThere) => (isThere ? trieOf(arrays) : undefined))
        this.#branch.wildcards?.seal({ starts, ends, middles, lists: arrays.next() as Int32Array })
        break
      }
    }
  }

  #pathOf(path: number): readonly PathStep[] {
    return path < 0 ? NO_PATH : this.#paths[path]
  }

  #addNode({ id, path: pathNumber, isFixed, hasBranches, hasTiers, rules: packed }: PackedNode): void {
    const path = this.#pathOf(pathNumber)
    const rules: Rule[] = []
    for (let i = 0; i < packed.length; i += 3) {
      const settings = this.#settings[packed[i] as number]
      const limit = this.#limits[packed[i + 1] as number]
      rules.push(ruleOf(limitId(id, rules.length), packed[i + 2] as string, limit, settings, path))
    }
    const branches = hasBranches ? new Map<string, Branch>() : undefined
    const tiers = hasTiers ? new Map<string, RuleNode>() : undefined
    this.#branches.push(branches)
    this.#tiers.push(tiers)
    this.#nodes.push(
      Object.freeze({ id, path, rules: Object.freeze(rules), tiers, isFixed, branches: branches ?? NO_BRANCHES }),
    )
  }

  #openBranch(node: number, key: string, any: number): void {
    this.#branch = { exact: new Map(), blocks: undefined, wildcards: undefined, any: this.#nodes[any] }
    this.#branches[node]?.set(key, this.#branch)
  }

  #addDomain({ root, secretKeys, ...domain }: PackedDomain): void {
    const { name, evaluatePath, hasTiers, version, defaults } = domain
    const own = { name, evaluatePath, hasTiers, version, defaults }
    const complete = { ...own, root: this.#nodes[root], secretKeys: new Set(secretKeys) }
    this.#domains.set(name, Object.freeze(complete))
  }

  #takeArrays(): { next(): IndexArray } {
    const arrays = this.#arrays
    this.#arrays = []
    return { next: () => arrays.shift() as IndexArray }
  }
}

type IndexRecord = Extract<
  PackedRecord,
  readonly ['block' | 'wildcard' | 'array' | 'array-part' | 'blocks-end' | 'wildcards-end', ...unknown[]]
>

/** Lists all parts in the same order as the compiler, as ruleOf does: to V8, objects of one kind. */
function stepOf(step: PathStep): PathStep {
  const { isOpen, wildcard, secret, sharedAs, detailedMetric, valueToMetric, metadata } = step
  return Object.freeze({ isOpen, wildcard, secret, sharedAs, detailedMetric, valueToMetric, metadata })
}

function ruleOf(id: string, name: string, limit: Limit, settings: RuleSettings, path: readonly PathStep[]): Rule {
  return Object.freeze({
    id,
    name: name === '' ? id : name,
    isNamed: settings.isNamed,
    limit,
    unlimited: settings.unlimited,
    shadow: settings.shadow,
    quota: settings.quota,
    replaces: settings.replaces,
    cost: settings.cost,
    consistency: settings.consistency,
    syncIntervalMs: settings.syncIntervalMs,
    onStoreFailure: settings.onStoreFailure,
    openForMs: settings.openForMs,
    localShare: settings.localShare,
    timeoutMs: settings.timeoutMs,
    priority: settings.priority,
    response: settings.response,
    retryAfterJitterMs: settings.retryAfterJitterMs,
    ledger: settings.ledger,
    path,
  })
}

function trieOf(arrays: { next(): IndexArray }): FiledTrie {
  return {
    parents: arrays.next() as Int32Array,
    codes: arrays.next() as Uint16Array,
    slots: arrays.next() as Int32Array,
    fallbacks: arrays.next() as Int32Array,
    nextFiled: arrays.next() as Int32Array,
    filed: arrays.next() as Int32Array,
  }
}

function arrayLike(like: IndexArray, length: number): IndexArray {
  if (like instanceof Int32Array) return new Int32Array(length)
  return like instanceof Uint32Array ? new Uint32Array(length) : new Uint16Array(length)
}
