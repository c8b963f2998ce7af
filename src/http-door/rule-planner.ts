import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { SluiceError } from '../core/errors.ts'
import type { KeySpeller } from '../core/key-speller.ts'
import type { Descriptor } from '../core/request.ts'
import { compileObjects } from '../core/rules/compile.ts'
import type { RuleText } from '../core/rules/load.ts'
import { RulesError } from '../core/rules/problems.ts'
import type { Domain, RuleSet } from '../core/rules/rule-set.ts'
import type { RuleFile } from '../core/rules/schema.ts'
import type { PlannedCharge } from '../engine/charge.ts'
import { LiveRules } from '../engine/live-rules.ts'
import { andThen } from '../engine/maybe.ts'
import { Planner } from '../engine/plan.ts'
import type { MaybePromise } from '../engine/ports.ts'
import { FileSource } from '../sources/file-source.ts'
import { ThreadLoader } from '../sources/thread-loader.ts'
import type { Caller } from './caller.ts'
import type { ChargePlanner } from './charge-planner.ts'
import type { Cost } from './limit-planner.ts'
import type { RequestReader } from './request-reader.ts'

export interface RuleOptions<R> {
  /** The rules: a file or a directory of them, which is watched; YAML text (with a line break in it); or objects. */
  readonly rules: string | RuleFile | readonly RuleFile[]
  /** Which of the rules' domains. Default: the only one. */
  readonly domain?: string
  /** What a request is about. Default: descriptorsOf. */
  readonly descriptors?: (request: R, caller: Caller) => MaybePromise<readonly Descriptor[]>
  /** Told when rules that are watched were changed to something wrong; the last good ones stay. */
  readonly onRulesRefused?: (error: Error) => void
}

/** RulePlanner plans by rules in the language of docs/rules.md. */
export class RulePlanner<R> implements ChargePlanner<R> {
  readonly #options: RuleOptions<R>
  readonly #reader: RequestReader<R>
  readonly #cost: Cost<R>
  readonly #planner: Planner
  readonly #rules: () => RuleSet
  readonly #stop: () => void

  constructor(options: RuleOptions<R>, reader: RequestReader<R>, cost: Cost<R>, keys: KeySpeller) {
    this.#options = options
    this.#reader = reader
    this.#cost = cost
    this.#planner = new Planner(keys)
    const { rules, stop } = loaded(options)
    this.#rules = rules
    this.#stop = stop
    this.#domain()
  }

  plan(request: R, caller: Caller): MaybePromise<readonly PlannedCharge[]> {
    const { descriptors } = this.#options
    const given = descriptors === undefined ? this.#descriptorsOf(request, caller) : descriptors(request, caller)
    return andThen(given, (list) =>
      andThen(typeof this.#cost === 'number' ? this.#cost : this.#cost(request, caller), (cost) =>
        this.#planner.plan(this.#rules(), { domain: this.#domain().name, descriptors: list, cost }),
      ),
    )
  }

  planReset(caller: Caller): readonly PlannedCharge[] {
    const domain = this.#domain()
    const request = { domain: domain.name, descriptors: callerDescriptors(domain, caller, []) }
    return this.#planner.plan(this.#rules(), request)
  }

  scopeOf(): undefined {
    return undefined
  }

  close(): void {
    this.#stop()
  }

  /** #domain is looked up each time: rules that are watched may name another one by now. */
  #domain(): Pick<Domain, 'name' | 'hasTiers' | 'evaluatePath'> {
    const { domains } = this.#rules()
    const { domain: name } = this.#options
    // A domain that the rules do not have, or do not have yet, has no limits.
    if (name !== undefined) return domains.get(name) ?? { name, hasTiers: false, evaluatePath: false }
    if (domains.size !== 1) {
      const names = [...domains.keys()].map((each) => JSON.stringify(each)).join(', ')
      throw new SluiceError(
        'GATE_OPTIONS_INVALID',
        'domain',
        `the rules have ${domains.size} domains (${names}); name one`,
      )
    }
    const [only] = domains.values()
    return only
  }

  #descriptorsOf(request: R, caller: Caller): readonly Descriptor[] {
    const url = this.#reader.url(request)
    const mark = url.indexOf('?')
    const method = { key: 'method', value: this.#reader.method(request) }
    const path = { key: 'path', value: mark < 0 ? url : url.slice(0, mark) }
    return callerDescriptors(this.#domain(), caller, [method, path])
  }
}

type Entries = Descriptor['entries']

/**
 * callerDescriptors says what a request is about, in the words that rules usually use: everything that is known of the
 * caller (`ip`, `api_key`, `user`, `tenant`), each alone, with the method, with the path, and with both; and those by
 * themselves. A caller's `tier` goes with all of them. What no rule asks about costs a look-up. Where rules on the way
 * down apply too, only the longest are given: each rule is to count a request once.
 */
function callerDescriptors(
  { hasTiers, evaluatePath }: Pick<Domain, 'hasTiers' | 'evaluatePath'>,
  { ip, apiKey, user, tenant, tier }: Caller,
  request: Entries,
): readonly Descriptor[] {
  const ways: Entries[] = evaluatePath ? [request] : [[], ...request.map((each) => [each])]
  if (!evaluatePath && request.length > 1) ways.push(request)
  const first = hasTiers && tier !== undefined ? [{ key: 'tier', value: tier }] : []
  const found: Descriptor[] = []
  for (const [key, value] of [
    ['ip', ip],
    ['api_key', apiKey],
    ['user', user],
    ['tenant', tenant],
  ] as const) {
    if (value === undefined) continue
    for (const way of ways) found.push({ entries: [...first, { key, value }, ...way] })
  }
  for (const way of ways) if (way.length > 0) found.push({ entries: [...first, ...way] })
  return found
}

function loaded<R>({ rules, onRulesRefused }: RuleOptions<R>): { rules: () => RuleSet; stop: () => void } {
  if (typeof rules !== 'string') {
    const compiled = compileObjects(isList(rules) ? rules : [rules])
    return { rules: () => compiled, stop: () => {} }
  }
  let refusal: RulesError | undefined
  const isText = rules.includes('\n')
  const live = new LiveRules(isText ? {} : { loader: new ThreadLoader() }, {
    refused: (error) => {
      refusal = error
      onRulesRefused?.(error)
    },
  })
  const isGood = live.apply(isText ? [{ file: 'rules', text: rules }] : readRules(rules))
  if (!isGood) throw refusal ?? new RulesError([])
  if (!isText) void live.follow([new FileSource([rules])])
  return { rules: live.current, stop: () => live.stop() }
}

function isList(rules: RuleFile | readonly RuleFile[]): rules is readonly RuleFile[] {
  return Array.isArray(rules)
}

/** readRules reads files at once, so that what is wrong with them is told when the middleware is made. */
function readRules(path: string): readonly RuleText[] {
  try {
    if (!statSync(path).isDirectory()) return [{ file: path, text: readFileSync(path, 'utf8') }]
    const names = readdirSync(path, { recursive: true, encoding: 'utf8' }).filter((name) => isRules(name))
    return names.sort().map((name) => ({ file: join(path, name), text: readFileSync(join(path, name), 'utf8') }))
  } catch (error) {
    const { message } = error as Error
    throw new RulesError([new SluiceError('RULE_FILE_UNREADABLE', path, message)])
  }
}

function isRules(name: string): boolean {
  return /\.ya?ml$/.test(name) && !name.split(/[\\/]/).some((part) => part.startsWith('.'))
}
