import { isMap, isScalar, isSeq, yamlPackage } from 'sluice/internal/core/rules/yaml-package'
import type { Node, Pair, Scalar, YAMLMap } from 'yaml'
import { invalid } from '../api/values.ts'

const BUCKETS = ['token_bucket', 'gcra', 'leaky_bucket']

/**
 * A LimitPlace is where a limit stands in a text of rules, and what the text says there itself. Defaults are elsewhere.
 */
export interface LimitPlace {
  readonly domain: string
  readonly id: string
  /** The tier whose limit it is; null: of the rule itself. */
  readonly tier: string | null
  /** From 1. */
  readonly line: number
  readonly says: LimitFields
  readonly hasCalendar: boolean
  readonly isBucket: boolean
  readonly isUnlimited: boolean
  readonly limit: YAMLMap
  /** Where shadow_mode stands; not there for the limit of a tier, which follows its rule. */
  readonly descriptor: YAMLMap | undefined
}

/** LimitFields are what the form changes. What is undefined is not in the text. */
export interface LimitFields {
  readonly requests: string | undefined
  readonly unit: string | undefined
  readonly window: string | undefined
  readonly burst: string | undefined
  readonly shadow: boolean
}

/** findLimits lists the limits of a text, by the ids that the service gives them. A text that is no YAML has none. */
export function findLimits(text: string): LimitPlace[] {
  const { contents: root, errors } = yamlPackage().parseDocument(text)
  if (errors.length > 0 || !isMap(root)) return []
  const finder = new Finder(text, plain(root, 'domain') ?? '', readDefaults(root))
  finder.level(listAt(root, 'descriptors'), '', null)
  const tiers = root.get('tiers')
  const tiered = finder.tiered
  if (isMap(tiers)) {
    for (const { key, value } of tiers.items) {
      if (!isMap(value)) continue
      for (const id of tiered) finder.pattern(value, undefined, id, String(isScalar(key) ? key.value : key))
    }
  }
  return finder.found
}

const readDefaults = (root: YAMLMap): string | undefined => {
  const defaults = root.get('defaults')
  return isMap(defaults) ? plain(defaults, 'algorithm') : undefined
}

class Finder {
  readonly #text: string
  readonly #domain: string
  readonly #algorithm: string | undefined
  readonly found: LimitPlace[] = []
  /** The ids of patterns that tiers stand in for. */
  readonly tiered: string[] = []

  constructor(text: string, domain: string, algorithm: string | undefined) {
    this.#text = text
    this.#domain = domain
    this.#algorithm = algorithm
  }

  level(descriptors: readonly Node[], parentId: string, tier: string | null): void {
    for (const descriptor of descriptors) {
      if (!isMap(descriptor) || plain(descriptor, 'enabled') === 'false') continue
      const step = stepOf(descriptor)
      const id = parentId === '' ? step : `${parentId}/${step}`
      if (plain(descriptor, 'tiered') === 'true') this.tiered.push(id)
      this.pattern(descriptor, descriptor, id, tier)
    }
  }

  /** pattern finds the limits that stand in a descriptor or in a tier, and those below. */
  pattern(holder: YAMLMap, descriptor: YAMLMap | undefined, id: string, tier: string | null): void {
    const one = holder.get('rate_limit')
    const limits = isMap(one) ? [one] : listAt(holder, 'rate_limits')
    limits.forEach((limit, i) => {
      if (isMap(limit)) this.#add(limit, descriptor, i === 0 ? id : `${id}#${i + 1}`, tier)
    })
    this.level(listAt(holder, 'descriptors'), id, tier)
  }

  #add(limit: YAMLMap, descriptor: YAMLMap | undefined, id: string, tier: string | null): void {
    this.found.push({
      domain: this.#domain,
      id,
      tier,
      line: this.#text.slice(0, limit.range?.[0] ?? 0).split('\n').length,
      says: {
        requests: plain(limit, 'requests_per_unit'),
        unit: plain(limit, 'unit'),
        window: plain(limit, 'window'),
        burst: plain(limit, 'burst'),
        shadow: descriptor !== undefined && plain(descriptor, 'shadow_mode') === 'true',
      },
      hasCalendar: limit.has('calendar'),
      isBucket: BUCKETS.includes(plain(limit, 'algorithm') ?? this.#algorithm ?? ''),
      isUnlimited: plain(limit, 'unlimited') === 'true',
      limit,
      descriptor,
    })
  }
}

/** Writes a descriptor as ids do. */
function stepOf(descriptor: YAMLMap): string {
  const key = plain(descriptor, 'key') ?? ''
  const cidr = descriptor.get('cidr')
  const value = isSeq(cidr)
    ? cidr.items.map((each) => String(isScalar(each) ? each.value : each)).join(',')
    : (plain(descriptor, 'cidr') ?? plain(descriptor, 'value') ?? '')
  if (value === '') return key
  return `${key}=${plain(descriptor, 'secret') === 'true' ? '(secret)' : value}`
}

function listAt(map: YAMLMap, key: string): readonly Node[] {
  const list = map.get(key)
  return isSeq(list) ? (list.items as Node[]) : []
}

function plain(map: YAMLMap, key: string): string | undefined {
  const value = map.get(key, true)
  return isScalar(value) && value.value !== null ? String(value.value) : undefined
}

/** changeLimit returns the text with other figures in one limit. Everything else stays as it is, to the letter. */
export function changeLimit(text: string, place: LimitPlace, to: LimitFields): string {
  const { says, limit, descriptor } = place
  const edits: Edit[] = []
  const put = (map: YAMLMap, name: string, value: string | undefined, instead?: string): void => {
    edits.push(...editsFor(text, map, name, value, instead))
  }
  if (to.requests !== says.requests) put(limit, 'requests_per_unit', to.requests)
  if (to.unit !== says.unit || to.window !== says.window) {
    if (to.window !== undefined) put(limit, 'window', to.window, 'unit')
    else put(limit, 'unit', to.unit, 'window')
  }
  if (to.burst !== says.burst) put(limit, 'burst', to.burst)
  if (to.shadow !== says.shadow && descriptor !== undefined) put(descriptor, 'shadow_mode', String(to.shadow))
  return apply(text, edits)
}

interface Edit {
  readonly from: number
  readonly to: number
  readonly text: string
}

/** editsFor puts a value under a name, in place of `instead` if only that is there; undefined takes it away. */
function editsFor(text: string, map: YAMLMap, name: string, value: string | undefined, instead?: string): Edit[] {
  const pair = pairAt(map, name)
  const other = instead === undefined ? undefined : pairAt(map, instead)
  if (value === undefined) return pair === undefined ? [] : [removal(text, map, pair)]
  if (pair !== undefined) {
    const edits = [{ ...spanOf(pair.value), text: value }]
    return other === undefined ? edits : [...edits, removal(text, map, other)]
  }
  if (other !== undefined)
    return [{ from: spanOf(other.key).from, to: spanOf(other.value).to, text: `${name}: ${value}` }]
  return [addition(text, map, `${name}: ${value}`)]
}

interface ScalarPair extends Pair<Scalar, Scalar> {
  value: Scalar
}

function pairAt(map: YAMLMap, name: string): ScalarPair | undefined {
  const pair = map.items.find(({ key }) => isScalar(key) && key.value === name)
  return pair !== undefined && isScalar(pair.value) ? (pair as ScalarPair) : undefined
}

function spanOf(node: Node): { from: number; to: number } {
  const [from, to] = node.range ?? [0, 0]
  return { from, to }
}

/** addition stands behind the first pair with a plain value: in the same brackets, or on a new line. */
function addition(text: string, map: YAMLMap, added: string): Edit {
  const pairs = map.items.filter(({ value }) => isScalar(value)) as ScalarPair[]
  const last = map.flow ? pairs.at(-1) : pairs[0]
  if (last === undefined) throw invalid('text', 'the limit has no plain value; change it as YAML')
  const at = spanOf(last.value).to
  if (map.flow) return { from: at, to: at, text: `, ${added}` }
  const lineEnd = text.indexOf('\n', at)
  const end = lineEnd < 0 ? text.length : lineEnd
  return { from: end, to: end, text: `\n${' '.repeat(columnOf(text, spanOf(last.key).from))}${added}` }
}

function removal(text: string, map: YAMLMap, pair: ScalarPair): Edit {
  const at = map.items.indexOf(pair)
  const next = map.items[at + 1] as ScalarPair | undefined
  const { from } = spanOf(pair.key)
  if (next !== undefined && (map.flow || at === 0)) return { from, to: spanOf(next.key).from, text: '' }
  const { to } = spanOf(pair.value)
  if (map.flow) return { from: text.lastIndexOf(',', from), to, text: '' }
  const lineEnd = text.indexOf('\n', to)
  return { from: text.lastIndexOf('\n', from), to: lineEnd < 0 ? text.length : lineEnd, text: '' }
}

const columnOf = (text: string, at: number): number => at - (text.lastIndexOf('\n', at - 1) + 1)

function apply(text: string, edits: readonly Edit[]): string {
  let changed = text
  for (const { from, to, text: by } of [...edits].sort((a, b) => b.from - a.from)) {
    changed = changed.slice(0, from) + by + changed.slice(to)
  }
  return changed
}
