import type { Limit } from '../limit.ts'
import type { CidrIndex } from './cidr-index.ts'
import type { IndexArray, PackedRecord, RulePart, RuleSettings } from './packed-rules.ts'
import type { Branch, Domain, PathStep, Rule, RuleNode, RuleSet } from './rule-set.ts'
import { optionsOf } from './shared-parts.ts'
import type { FiledTrie, WildcardIndex } from './wildcard-index.ts'

/**
 * How much a part may weigh. A node weighs about 2. On a busy machine each part waits for a turn of three event loops: 10,000 rules are
 * 18 parts, of which none takes more than half a millisecond to receive and unpack.
 */
const MAX_WEIGHT = 2_000
const EXACT_AT_ONCE = 200
const BYTES_AT_ONCE = 65_536

/** Turns rules into parts, which RuleUnpacker makes the same rules of, in another thread or process. */
export function* packRules(rules: RuleSet): Generator<RulePart> {
  let part: PackedRecord[] = []
  let weight = 0
  for (const record of new Packer().records(rules)) {
    part.push(record)
    weight += weightOf(record)
    if (weight < MAX_WEIGHT) continue
    yield part
    part = []
    weight = 0
  }
  if (part.length > 0) yield part
}

/** Returns how long a record takes to unpack, in about half a microsecond. */
function weightOf(record: PackedRecord): number {
  switch (record[0]) {
    case 'node':
      return 2 + record[1].rules.length / 3
    case 'exact':
      return record[1].length / 2
    case 'array-part':
      return record[2].byteLength / 512
    case 'limit':
      // A calendar asks the time zone database.
      return record[1].calendar === undefined ? 4 : 100
    case 'array':
      return record[2] / 4_096
    case 'blocks-end':
    case 'wildcards-end':
      return MAX_WEIGHT
    default:
      return 2
  }
}

class Packer {
  readonly #limits = new Map<Limit, number>()
  readonly #steps = new Map<PathStep, number>()
  readonly #paths = new Map<readonly PathStep[], number>()
  readonly #settings = new Map<string, number>()
  readonly #nodes = new Map<RuleNode, number>()

  #numberOf(node: RuleNode): number {
    return this.#nodes.get(node) as number
  }

  *records({ domains, ruleCount, version }: RuleSet): Generator<PackedRecord> {
    for (const domain of domains.values()) yield* this.#node(domain.root)
    for (const node of this.#nodes.keys()) yield* this.#links(node)
    for (const domain of domains.values()) yield this.#domain(domain)
    yield ['end', ruleCount, version]
  }

  /** Numbers a node and all nodes below it. */
  *#node(node: RuleNode): Generator<PackedRecord> {
    if (this.#nodes.has(node)) return
    const rules: (number | string)[] = []
    for (const rule of node.rules) {
      const settings = yield* this.#settingsOf(rule)
      const limit = yield* this.#limit(rule.limit)
      rules.push(settings, limit, rule.name === rule.id ? '' : rule.name)
    }
    const path = yield* this.#path(node.path)
    this.#nodes.set(node, this.#nodes.size)
    const { id, branches, tiers, isFixed } = node
    yield ['node', { id, path, rules, isFixed, hasBranches: branches.size > 0, hasTiers: tiers !== undefined }]
    for (const branch of branches.values()) for (const below of nodesOf(branch)) yield* this.#node(below)
    for (const set of tiers?.values() ?? []) yield* this.#node(set)
  }

  *#settingsOf({ id, name, limit, path, ...settings }: Rule): Generator<PackedRecord, number> {
    const json = JSON.stringify(settings, (_, value) => (value instanceof Map ? [...value] : value))
    return yield* numbered(this.#settings, json, ['settings', settings satisfies RuleSettings])
  }

  *#limit(limit: Limit): Generator<PackedRecord, number> {
    return yield* numbered(this.#limits, limit, ['limit', optionsOf(limit)])
  }

  *#path(path: readonly PathStep[]): Generator<PackedRecord, number> {
    if (path.length === 0) return -1
    const known = this.#paths.get(path)
    if (known !== undefined) return known
    const step = yield* numbered(this.#steps, path[path.length - 1], ['step', path[path.length - 1]])
    const parent = yield* this.#path(path.slice(0, -1))
    return yield* numbered(this.#paths, path, ['path', parent, step])
  }

  /** Returns where the branches of a node lead. */
  *#links(node: RuleNode): Generator<PackedRecord> {
    for (const [key, branch] of node.branches) {
      yield ['branch', this.#numberOf(node), key, branch.any === undefined ? -1 : this.#numberOf(branch.any)]
      const exact = [...branch.exact]
      for (let i = 0; i < exact.length; i += EXACT_AT_ONCE) {
        const some = exact.slice(i, i + EXACT_AT_ONCE)
        yield ['exact', some.map(([value]) => value), some.map(([, below]) => this.#numberOf(below))]
      }
      if (branch.blocks !== undefined) yield* this.#blocks(branch.blocks)
      if (branch.wildcards !== undefined) yield* this.#wildcards(branch.wildcards)
    }
    if (node.tiers === undefined) return
    const nodes = [...node.tiers.values()].map((set) => this.#numberOf(set))
    yield ['tiers', this.#numberOf(node), [...node.tiers.keys()], nodes]
  }

  *#blocks({ blocks, targets, built }: CidrIndex<RuleNode>): Generator<PackedRecord> {
    for (const [i, { base, bits }] of blocks.entries()) yield ['block', base, bits, this.#numberOf(targets[i])]
    for (const { starts, blocks: numbers } of [built.v4, built.v6]) {
      yield* arrayRecords(starts)
      yield* arrayRecords(numbers)
    }
    yield ['blocks-end']
  }

  *#wildcards({ patterns, targets, built }: WildcardIndex<RuleNode>): Generator<PackedRecord> {
    for (const [i, pattern] of patterns.entries()) yield ['wildcard', pattern, this.#numberOf(targets[i])]
    const { starts, ends, middles, lists } = built
    for (const trie of [starts, ends, middles]) {
      if (trie !== undefined) for (const array of trieArrays(trie)) yield* arrayRecords(array)
    }
    yield* arrayRecords(lists)
    yield ['wildcards-end', [starts !== undefined, ends !== undefined, middles !== undefined]]
  }

  #domain({ name, root, evaluatePath, hasTiers, secretKeys, version, defaults }: Domain): PackedRecord {
    const own = { name, evaluatePath, hasTiers, version, defaults }
    const packed = { ...own, root: this.#numberOf(root), secretKeys: [...secretKeys] }
    return ['domain', packed]
  }
}

/** Returns the number of a thing. The first time it yields the record that introduces it. */
function* numbered<K>(known: Map<K, number>, key: K, record: PackedRecord): Generator<PackedRecord, number> {
  const before = known.get(key)
  if (before !== undefined) return before
  known.set(key, known.size)
  yield record
  return known.size - 1
}

/** Lists where a branch leads. */
function nodesOf({ exact, blocks, wildcards, any }: Branch): readonly RuleNode[] {
  const nodes = [...exact.values(), ...(blocks?.targets ?? []), ...(wildcards?.targets ?? [])]
  return any === undefined ? nodes : [...nodes, any]
}

function trieArrays({ parents, codes, slots, fallbacks, nextFiled, filed }: FiledTrie): readonly IndexArray[] {
  return [parents, codes, slots, fallbacks, nextFiled, filed]
}

function* arrayRecords(array: IndexArray): Generator<PackedRecord> {
  yield ['array', array.slice(0, 0), array.length]
  const step = BYTES_AT_ONCE / array.BYTES_PER_ELEMENT
  for (let at = 0; at < array.length; at += step) yield ['array-part', at, array.slice(at, at + step)]
}
