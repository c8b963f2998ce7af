import type { CheckRequest, Entry } from 'sluice/internal/core/request'
import type { Slots } from '../traffic/line-reader.ts'
import type { RequestMaker } from './request-maker.ts'
import { costOf } from './rule-requests.ts'

/**
 * Makes requests of the decision log of a service. A line has the entries of the rule that decided, with secrets
 * hashed: each of them is one descriptor.
 */
export class DecisionRequests implements RequestMaker {
  readonly callerKeys = ['caller']
  readonly needs = 'a key that a rule has decided about'
  readonly #domain: number
  readonly #kind: number
  readonly #key: number
  readonly #cost: number
  readonly #isAsked: (domain: string) => boolean

  /** `isAsked`: which domains are replayed. */
  constructor(slots: Slots, isAsked: (domain: string) => boolean) {
    const at = (field: string): number => slots.get(field) ?? -1
    this.#domain = at('domain')
    this.#kind = at('key_kind')
    this.#key = at('key')
    this.#cost = at('cost')
    this.#isAsked = isAsked
  }

  request(values: readonly string[]): CheckRequest | undefined {
    const domain = values[this.#domain]
    if (domain === '' || !this.#isAsked(domain)) return undefined
    const entries = entriesOf(values[this.#kind], values[this.#key])
    return entries === undefined ? undefined : { domain, descriptors: [{ entries }], cost: costOf(values[this.#cost]) }
  }

  callerValue(values: readonly string[]): string {
    const [first] = entriesOf(values[this.#kind], values[this.#key]) ?? []
    return first === undefined ? '' : `${first.key}=${first.value}`
  }
}

/** Reads `user=42|endpoint=POST /orders`, whose keys are `user/endpoint`. */
function entriesOf(kind: string, key: string): Entry[] | undefined {
  if (key === '') return undefined
  const keys = kind.split('/')
  const entries: Entry[] = []
  let at = 0
  for (let i = 0; i < keys.length; i++) {
    if (!key.startsWith(`${keys[i]}=`, at)) return undefined
    const start = at + keys[i].length + 1
    const next = i + 1 < keys.length ? key.indexOf(`|${keys[i + 1]}=`, start) : key.length
    if (next < 0) return undefined
    entries.push({ key: keys[i], value: key.slice(start, next) })
    at = next + 1
  }
  return entries
}
