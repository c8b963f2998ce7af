import { got, SluiceError } from 'sluice/internal/core/errors'
import type { ProxyTrust } from 'sluice/internal/core/identity/proxy-trust'
import { MAX_COUNT } from 'sluice/internal/core/limit'
import type { CheckRequest, Descriptor, Entry } from 'sluice/internal/core/request'
import type { Domain } from 'sluice/internal/core/rules/rule-set'
import type { KnownFields } from '../traffic/formats.ts'
import type { Slots } from '../traffic/line-reader.ts'
import { CALLERS, isField, templateOf } from './entry-templates.ts'
import { DERIVED_FIELDS, type FieldValue, fieldsNeeded, fieldValue } from './field-values.ts'
import { type KeyPath, keyPathsOf } from './key-paths.ts'
import type { RequestMaker } from './request-maker.ts'
import { type Template, templateValue } from './template.ts'

/** How requests are made of the lines of a log, as the command line says it. */
export interface Mapping {
  /** How the values of entries are written, by their key: `{method} {path}`. */
  readonly entries: ReadonlyMap<string, string>
  /** The descriptors that are sent, by their keys; none: those that the rules are about. */
  readonly descriptors: readonly KeyPath[]
  /** Keys of entries that are not sent. Rules that need them are not asked. */
  readonly without: ReadonlySet<string>
  /** The entry that says who is calling. Default: the best of those that are sent. */
  readonly caller: string | undefined
  /** Entries or fields whose different values are counted, for conditions about them. */
  readonly groups: readonly string[]
  readonly trust: ProxyTrust | undefined
  /** The cost of a request is in the field `cost`. */
  readonly hasCost: boolean
}

const TIER = 'tier'

/** What is to be sent, before the log is opened: it says which fields are needed. */
export class RequestPlan {
  readonly paths: readonly KeyPath[]
  readonly fields: ReadonlySet<string>
  readonly callerKeys: readonly string[]
  readonly #domain: Domain
  readonly #mapping: Mapping
  readonly #templates: ReadonlyMap<string, Template>
  readonly #direct: ReadonlySet<string>

  /**
   * `known` are the fields of the log. Throws an error that names every entry
   * whose value the log does not have: a rule that is silently never asked would look like one that refuses no one.
   */
  constructor(domain: Domain, mapping: Mapping, known: KnownFields) {
    const { without, descriptors } = mapping
    const asked = descriptors.length > 0 ? descriptors : keyPathsOf(domain)
    this.paths = asked.filter((path) => !path.some((key) => without.has(key)))
    if (this.paths.length === 0) throw new SluiceError('NOTHING_SIMULATED', domain.name, 'no descriptor is left')
    const keys = new Set(this.paths.flat())
    const isTiered = domain.hasTiers && (mapping.entries.has(TIER) || known.names?.has(TIER) !== false)
    if (isTiered && !without.has(TIER)) keys.add(TIER)
    this.#templates = templatesOf(keys, mapping, known)
    const callers = CALLERS.filter((key) => keys.has(key))
    this.callerKeys =
      mapping.caller !== undefined ? [mapping.caller] : callers.length > 0 ? callers : [this.paths[0][0]]
    const [caller] = this.callerKeys
    if (!this.#templates.has(caller)) throw new SluiceError('CALLER_UNKNOWN', '--caller', got(caller))
    const fields = [...this.#templates.values()].flatMap((template) =>
      template.fields.flatMap((field) => fieldsNeeded(field, known.direct)),
    )
    this.fields = new Set([...fields, ...(mapping.hasCost ? ['cost'] : [])])
    this.#domain = domain
    this.#mapping = mapping
    this.#direct = known.direct
  }

  /** Returns how the value of an entry or a group is read. */
  valueOf(key: string, slots: Slots): FieldValue {
    const places = { slots, direct: this.#direct, trust: this.#mapping.trust }
    return templateValue(this.#templates.get(key) as Template, (field) => fieldValue(field, places))
  }

  /** Returns what makes the requests, when the place of each field is known. */
  open(slots: Slots): RequestMaker {
    const values = new Map([...this.#templates.keys()].map((key) => [key, this.valueOf(key, slots)]))
    const cost = this.#mapping.hasCost ? (slots.get('cost') ?? -1) : -1
    return new RuleRequests(this.#domain, this.paths, this.callerKeys, values, cost)
  }
}

/** Finds the template of every entry. The caller's may be one that no rule needs. */
function templatesOf(
  keys: ReadonlySet<string>,
  { entries, caller, groups }: Mapping,
  { names: known, direct }: KnownFields,
): ReadonlyMap<string, Template> {
  const templates = new Map<string, Template>()
  const missing: string[] = []
  const hasField = (field: string): boolean => isField(field, { names: known, direct })
  for (const key of new Set([...keys, ...entries.keys(), ...groups, ...(caller === undefined ? [] : [caller])])) {
    const given = entries.get(key)
    const template = templateOf(key, entries)
    const unknown = template.fields.filter((each) => !hasField(each))
    if (unknown.length === 0) templates.set(key, template)
    else if (keys.has(key) || groups.includes(key) || given !== undefined)
      missing.push(given === undefined ? key : `${key}={${unknown[0]}}`)
  }
  if (missing.length === 0) return templates
  const fields = [...new Set([...DERIVED_FIELDS, ...(known ?? [])].filter(hasField))].sort()
  const advice = `Say where its value is: --entry ${missing[0]}={FIELD} (fields: ${fields.join(', ')}), as a constant (--entry ${missing[0]}=TEXT), or leave its rules out: --without ${missing[0]}`
  const quoted = missing.map((key) => JSON.stringify(key)).join(', ')
  throw new SluiceError(
    'TRAFFIC_ENTRY_UNKNOWN',
    '--entry',
    `the rules need ${quoted}, which the traffic does not have`,
    `${advice}.`,
  )
}

class RuleRequests implements RequestMaker {
  readonly callerKeys: readonly string[]
  readonly needs: string
  readonly #domain: string
  /** Each descriptor as places in #values. */
  readonly #paths: readonly (readonly number[])[]
  readonly #keys: readonly string[]
  readonly #values: readonly FieldValue[]
  readonly #callers: readonly FieldValue[]
  readonly #tier: FieldValue | undefined
  readonly #cost: number
  /** Descriptors may be cut off where a value is missing: rules on the way apply too. */
  readonly #mayEndEarly: boolean

  constructor(
    domain: Domain,
    paths: readonly KeyPath[],
    callerKeys: readonly string[],
    values: ReadonlyMap<string, FieldValue>,
    cost: number,
  ) {
    this.#domain = domain.name
    this.callerKeys = callerKeys
    this.#keys = [...new Set(paths.flat())].filter((key) => !(domain.hasTiers && key === TIER))
    this.#paths = paths.map((path) => path.map((key) => this.#keys.indexOf(key)).filter((at) => at >= 0))
    this.#values = this.#keys.map((key) => values.get(key) as FieldValue)
    this.#callers = callerKeys.map((key) => values.get(key) as FieldValue)
    this.#tier = domain.hasTiers ? values.get(TIER) : undefined
    this.#cost = cost
    this.#mayEndEarly = domain.evaluatePath
    this.needs = paths.map((path) => path.join(' + ')).join(', or ')
  }

  request(values: readonly string[]): CheckRequest | undefined {
    const entries = new Array<Entry | undefined>(this.#keys.length)
    for (let i = 0; i < entries.length; i++) {
      const value = this.#values[i](values)
      entries[i] = value === '' ? undefined : { key: this.#keys[i], value }
    }
    const tier = this.#tier?.(values) ?? ''
    const descriptors: Descriptor[] = []
    for (let i = 0; i < this.#paths.length; i++) {
      const own = this.#entriesOf(this.#paths[i], entries)
      if (own === undefined) continue
      if (tier !== '') own.push({ key: TIER, value: tier })
      descriptors.push({ entries: own })
    }
    if (descriptors.length === 0) return undefined
    if (this.#cost < 0) return { domain: this.#domain, descriptors }
    return { domain: this.#domain, descriptors, cost: costOf(values[this.#cost]) }
  }

  callerValue(values: readonly string[], at: number): string {
    return this.#callers[at](values)
  }

  #entriesOf(path: readonly number[], all: readonly (Entry | undefined)[]): Entry[] | undefined {
    const entries: Entry[] = []
    for (let i = 0; i < path.length; i++) {
      const entry = all[path[i]]
      if (entry === undefined) return this.#mayEndEarly && i > 0 ? entries : undefined
      entries.push(entry)
    }
    return entries
  }
}

/** Reads what a request cost. What is no number costs 1: no field of a log makes a request free by mistake. */
export function costOf(text: string): number {
  const cost = Number(text)
  return text !== '' && Number.isInteger(cost) && cost >= 0 && cost <= MAX_COUNT ? cost : 1
}
