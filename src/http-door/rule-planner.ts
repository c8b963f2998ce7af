import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { addErrorRules, got, SluiceError } from '../core/errors.ts'
import type { KeyEncoder } from '../core/key-encoder.ts'
import { OPTIONAL_RULES } from '../core/library-error-rules.ts'
import type { Descriptor, Entry } from '../core/request.ts'
import { compileObjects } from '../core/rules/compile.ts'
import type { RuleText } from '../core/rules/load.ts'
import { RulesError } from '../core/rules/problems.ts'
import type { Domain, RuleSet } from '../core/rules/rule-set.ts'
import type { PlannedCharge } from '../engine/charge.ts'
import { LiveRules } from '../engine/live-rules.ts'
import { andThen } from '../engine/maybe.ts'
import { Planner } from '../engine/plan.ts'
import type { MaybePromise } from '../engine/ports.ts'
import { FileSource } from '../sources/file-source.ts'
import { ThreadLoader } from '../sources/thread-loader.ts'
import { type Caller, keyText } from './caller.ts'
import { callerDescriptors, type DescribedDomain, requestDescriptors } from './caller-descriptors.ts'
import { type ChargePlanner, withoutRepeats } from './charge-planner.ts'
import { type Cost, givenCost, sensibleCost } from './given-cost.ts'
import { guarded, type ReportError } from './guarded.ts'
import { canonicalMethod, canonicalPath, LOOSE, otherReadings, type Route, targetPath } from './request-path.ts'
import type { RequestReader } from './request-reader.ts'
import { RoutedRules } from './routed-rules.ts'
import { type RuleOptions, sourceOf } from './rule-options.ts'

/** Plans by rules in the language of docs/rules.md. */
export class RulePlanner<R> implements ChargePlanner<R> {
  readonly #options: RuleOptions<R>
  readonly #reader: RequestReader<R>
  readonly #cost: Cost<R>
  readonly #planner: Planner
  readonly #rules: () => RuleSet
  readonly #stop: () => void
  readonly #routed = new RoutedRules()
  readonly #report: ReportError
  /** The domain that was the only one: it still counts when rules that are watched get another. */
  #latest: string | undefined

  constructor(options: RuleOptions<R>, reader: RequestReader<R>, cost: Cost<R>, keys: KeyEncoder, report: ReportError) {
    addErrorRules(OPTIONAL_RULES)
    this.#options = options
    this.#reader = reader
    this.#cost = cost
    this.#planner = new Planner(keys)
    const { rules, stop } = loaded(options)
    this.#rules = rules
    this.#stop = stop
    this.#report = report
    this.#domain()
  }

  get countsKeys(): boolean {
    return this.#isAbout('api_key')
  }

  get isNet(): boolean {
    return this.#isAbout('ip')
  }

  plan(request: R, caller: Caller): MaybePromise<readonly PlannedCharge[] | undefined> {
    const { descriptors } = this.#options
    if (descriptors === undefined) return this.#planRouted(request, caller)
    return guarded<readonly PlannedCharge[] | undefined>(
      () => {
        const given = andThen(descriptors(request, caller), (list) => checkedDescriptors(list, this.#report))
        return andThen(given, (list) => this.#planBy(this.#rules(), list, request, caller))
      },
      (error) => {
        this.#report(error)
        return andThen(this.#planRouted(request, caller), (charges) => (charges.length === 0 ? undefined : charges))
      },
    )
  }

  planReset(caller: Caller): readonly PlannedCharge[] {
    const domain = this.#domain()
    const request = { domain: domain.name, descriptors: callerDescriptors(domain, caller) }
    return this.#planner.plan(this.#rules(), request)
  }

  scopeOf(): undefined {
    return undefined
  }

  close(): void {
    this.#stop()
  }

  #isAbout(key: string): boolean {
    return this.#rules().domains.get(this.#domain().name)?.root.branches.has(key) === true
  }

  /** Looked up each time: rules that are watched may name another one by now. */
  #domain(): DescribedDomain & Pick<Domain, 'name'> {
    const { domains } = this.#rules()
    const { domain: name } = this.#options
    // A domain that the rules do not have, or do not have yet, has no limits.
    if (name !== undefined) return domains.get(name) ?? { name, hasTiers: false, evaluatePath: false }
    const latest = domains.size > 1 && this.#latest !== undefined ? domains.get(this.#latest) : undefined
    if (latest !== undefined) return latest
    if (domains.size !== 1) {
      const names = [...domains.keys()].map((each) => JSON.stringify(each)).join(', ')
      throw new SluiceError(
        'GATE_OPTIONS_INVALID',
        'domain',
        `the rules have ${domains.size} domains (${names}); choose one with domain`,
      )
    }
    const [only] = domains.values()
    this.#latest = only.name
    return only
  }

  /**
   * Plans with the framework's reading of a request: its paths are route paths, however written. A path that routers
   * read in several ways is charged for each reading.
   */
  #planRouted(request: R, caller: Caller): MaybePromise<readonly PlannedCharge[]> {
    const route = this.#routeOf(request)
    const { routing } = this.#options
    const by = routing === undefined ? route : { ...route, ...routing }
    const method = canonicalMethod(this.#reader.method(request))
    const path = canonicalPath(route.path, by)
    const others = path === route.path ? NO_PATHS : otherReadings(route.path, by)
    const domain = this.#domain()
    const list = requestDescriptors(domain, caller, method, path, others)
    const charges = this.#planBy(this.#routed.of(this.#rules(), domain.name, by), list, request, caller)
    return others.length === 0 ? charges : andThen(charges, withoutRepeats)
  }

  /** Asks the framework, and reads the target itself where that fails. */
  #routeOf(request: R): Route {
    try {
      return this.#reader.route(request)
    } catch (error) {
      this.#report(error)
      return { path: targetPath(this.#reader.url(request)), ...LOOSE }
    }
  }

  #planBy(
    rules: RuleSet,
    descriptors: readonly Descriptor[],
    request: R,
    caller: Caller,
  ): MaybePromise<readonly PlannedCharge[]> {
    return andThen(givenCost(this.#cost, request, caller, this.#report), (cost) =>
      this.#planner.plan(rules, { domain: this.#domain().name, descriptors, cost }),
    )
  }
}

const NO_PATHS: readonly string[] = []

/** Whose value an app does not know: all of those share a budget. */
const UNKNOWN = 'unknown'

/**
 * Checks what an app says that a request is about. A value that is missing, often one that the client did not send,
 * stands for itself: without it no rule would apply.
 */
function checkedDescriptors(list: unknown, report: ReportError): readonly Descriptor[] {
  if (!Array.isArray(list)) throw new SluiceError('KEY_INVALID', 'descriptors', got(list))
  return (list as readonly Descriptor[]).map((descriptor) => {
    const { entries, cost } = descriptor ?? {}
    if (!Array.isArray(entries)) throw new SluiceError('KEY_INVALID', 'descriptors', got(descriptor))
    return {
      ...descriptor,
      entries: entries.map((entry) => checkedEntry(entry, report)),
      ...(cost !== undefined && { cost: sensibleCost(cost) }),
    }
  })
}

function checkedEntry(entry: Entry, report: ReportError): Entry {
  const { key, value } = entry
  if (typeof key !== 'string') throw new SluiceError('KEY_INVALID', 'descriptors', got(key))
  if (typeof value === 'string') return entry
  try {
    const text = keyText(value)
    if (text !== undefined) return { key, value: text }
    throw new SluiceError('KEY_INVALID', `descriptors.${key}`, got(value))
  } catch (error) {
    report(error)
    return { key, value: UNKNOWN }
  }
}

function loaded<R>({ rules: given, onRulesRefused }: RuleOptions<R>): { rules: () => RuleSet; stop: () => void } {
  const rules = sourceOf(given)
  if (typeof rules !== 'string') {
    const compiled = compileObjects([rules].flat())
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

/** Reads files synchronously, so that errors in them are thrown when the middleware is created. */
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
