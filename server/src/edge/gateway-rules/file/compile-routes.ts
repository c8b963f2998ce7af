import type { ProxyTrustOptions } from 'sluice/internal/core/identity/proxy-trust'
import { ProxyTrust } from 'sluice/internal/core/identity/proxy-trust'
import type { Limit } from 'sluice/internal/core/limit'
import { didYouMean } from 'sluice/internal/core/nearest'
import { compileRules } from 'sluice/internal/core/rules/compile'
import type { RuleObject } from 'sluice/internal/core/rules/load'
import { Problems, RulesError } from 'sluice/internal/core/rules/problems'
import type { RuleDocument } from 'sluice/internal/core/rules/rule-document'
import { readPriority } from 'sluice/internal/core/shedding/priority'
import { CallerFinder, type IdentityOptions } from 'sluice/internal/http-door/caller'
import type { PriorityHeader } from 'sluice/internal/http-door/priority-header'
import { RoutedRules } from 'sluice/internal/http-door/routed-rules'
import { Kind, kindOf } from '../../gateway/fields.ts'
import type { GatewayRequest } from '../../gateway/gate.ts'
import type { RouteTimes, RoutingTable } from '../../gateway/options.ts'
import { Table } from '../../gateway/routes/table.ts'
import { UpstreamGroup } from '../../gateway/upstreams/upstream-group.ts'
import { type CeilingRates, type CeilingScope, ceilingLimit, DEFAULT_CEILING } from '../ceiling.ts'
import type { PlannedLimit, PlannedRoute, SharedPlan, ValueSource } from '../planned-route.ts'
import { gatewayReader } from '../request-reader.ts'
import { fixedSource, wordSource } from '../value-source.ts'
import { DEFAULT_ROOM, type RoomBounds } from '../waiting-room.ts'
import { aboveLimits } from './above-limits.ts'
import { checkRoutesFile } from './check-routes-file.ts'
import {
  type CompiledLimit,
  compileLimits,
  isAddress,
  type LimitContext,
  missingFor,
  partSource,
} from './compile-limit.ts'
import { compileUpstream, type Resources } from './compile-upstream.ts'
import { Diagnostics, type Path } from './diagnostics.ts'
import { RuleWriter } from './rule-writer.ts'
import type { EntryForm, RouteObject, RoutesFile } from './schema.ts'

/** What a routes file says, ready for a gateway. */
export interface GatewayPlan {
  readonly table: Omit<RoutingTable, 'routes'> & { readonly routes: readonly PlannedRoute[] }
  /** Its limits, in the rule language. */
  readonly rules: readonly RuleObject[]
  /** Whose word about clients counts. Read at the start. */
  readonly trust: ProxyTrustOptions | undefined
  /** Domains whose rules its routes ask for. */
  readonly domains: readonly string[]
  /** What is right, and perhaps not meant. */
  readonly warnings: readonly string[]
}

const DEFAULT_PEEK_BYTES = 16_384
/** Rules that routes have read already. */
const ROUTED_RULES = new RoutedRules()
const NO_RESOURCES: Resources = { readFile: () => Buffer.alloc(0), variable: () => undefined }

/** Turns a routes file into a plan. It throws a RulesError with everything that is wrong. */
export function compileRoutes(document: RuleDocument, file: string, resources: Resources = NO_RESOURCES): GatewayPlan {
  const problems = new Problems()
  const given = checkRoutesFile(document, problems)
  problems.throwIfAny()
  return new RoutesCompiler(given, new Diagnostics(document, problems), file, resources).compile()
}

class RoutesCompiler {
  readonly #file: RoutesFile
  readonly #diagnostics: Diagnostics
  readonly #name: string
  readonly #resources: Resources
  readonly #rules = new RuleWriter()
  readonly #room: RoomBounds
  /** What is odd about single limits. */
  readonly #odd: string[] = []

  constructor(file: RoutesFile, diagnostics: Diagnostics, name: string, resources: Resources) {
    this.#file = file
    this.#diagnostics = diagnostics
    this.#name = name
    this.#resources = resources
    this.#room = this.#roomOf(file.queue)
  }

  compile(): GatewayPlan {
    const { limits = [], upstreams: forms } = this.#file
    const upstreams = Object.fromEntries(
      Object.entries(forms).map(([name, form]) => {
        return [name, compileUpstream(form, ['upstreams', name], this.#diagnostics, this.#resources)]
      }),
    )
    if (Object.keys(upstreams).length === 0) this.#diagnostics.wrong(['upstreams'], 'there is none')
    const shared = this.#shared()
    const all = compileLimits(limits, this.#limitContext(undefined, ['limits'], undefined))
    this.#rules.addLimits(
      undefined,
      all.flatMap(({ written }) => written),
    )
    const routes = (this.#file.routes ?? [{}]).map((route, i) => this.#route(route, i, all, shared))
    this.#checkNames(routes)
    this.#checkTable({ routes, upstreams })
    const rules = this.#checkedRules()
    const trust = this.#trust()
    const passHeaders = this.#passHeaders()
    this.#diagnostics.problems.throwIfAny()
    const domains = [...new Set(routes.flatMap(({ domain }) => (domain === undefined ? [] : [domain.name])))]
    const table = { routes, upstreams, ...(passHeaders && { passHeaders }) }
    return { table, rules, trust, domains, warnings: this.#warnings(routes) }
  }

  #limitContext(route: string | undefined, at: Path, priority: number | undefined): LimitContext {
    const warn = (text: string) => void this.#odd.push(`${route === undefined ? '' : `route "${route}": `}${text}`)
    return {
      diagnostics: this.#diagnostics,
      identity: this.#file.identity ?? {},
      room: this.#room,
      route,
      at,
      priority,
      warn,
    }
  }

  #route(form: RouteObject, i: number, all: readonly CompiledLimit[], shared: SharedPlan): PlannedRoute {
    const at: Path = this.#file.routes === undefined ? [] : ['routes', i]
    const { host, path = '/*', methods, cost = 1, retries } = form
    const priority = readPriority(form.priority)
    const name = form.name ?? nameOf(form)
    const own = compileLimits(form.limits ?? [], this.#limitContext(name, [...at, 'limits'], priority))
    this.#rules.addLimits(
      name,
      own.flatMap(({ written }) => written),
    )
    const limits = withReplaced([...all, ...own])
    const paths = this.#paths(form)
    const domain = this.#domain(form, at, paths.caseSensitive)
    this.#checkLimited(form, at)
    const times = this.#times(form, at)
    return {
      name,
      path,
      upstream: this.#upstreamOf(form, at),
      ...(host !== undefined && { host }),
      ...(methods !== undefined && { methods: methods.map((method) => method.toUpperCase()) }),
      ...(times !== undefined && { times }),
      ...(retries !== undefined && { retries }),
      ...paths,
      ...bodyBounds(form, limits, domain),
      limits,
      domain,
      cost,
      priority,
      shared,
    }
  }

  /** Looks for limits, valid or not: errors in one are reported where it is defined. */
  #checkLimited({ limits, domain, unlimited }: RouteObject, at: Path): void {
    const isLimited = limits !== undefined || domain !== undefined || this.#file.limits !== undefined
    if (isLimited || unlimited === true || this.#file.unlimited === true) return
    this.#diagnostics.problems.add('ROUTE_UNLIMITED', this.#diagnostics.locate(at), 'the route has no limit')
  }

  #upstreamOf({ upstream }: RouteObject, at: Path): string {
    const names = Object.keys(this.#file.upstreams)
    if (upstream === undefined) {
      if (names.length > 1) this.#diagnostics.wrong(at, `upstream is missing; there are ${names.join(', ')}`)
      return names[0] ?? ''
    }
    if (!names.includes(upstream)) {
      this.#diagnostics.wrong(
        [...at, 'upstream'],
        `upstream: got ${JSON.stringify(upstream)}${didYouMean(upstream, names)}`,
      )
    }
    return upstream
  }

  #times({ times }: RouteObject, at: Path): Partial<RouteTimes> | undefined {
    if (times === undefined) return undefined
    const read = (key: keyof NonNullable<RouteObject['times']>) =>
      this.#diagnostics.duration(times[key], [...at, 'times', key])
    const all = {
      connectMs: read('connect'),
      bodyIdleMs: read('body_idle'),
      firstByteMs: read('first_byte'),
      idleMs: read('idle'),
      totalMs: read('total'),
    }
    return Object.fromEntries(Object.entries(all).filter(([, ms]) => ms !== undefined)) as Partial<RouteTimes>
  }

  /** Returns what a route says about paths, or else its file. */
  #paths(form: RouteObject) {
    const {
      case_sensitive: caseSensitive = false,
      encoded_slashes: slashes,
      forward_path: forward,
    } = {
      ...this.#file,
      ...form,
    }
    return {
      caseSensitive,
      ...(slashes !== undefined && { encodedSlashes: slashes }),
      ...(forward !== undefined && { forwardPath: forward }),
    }
  }

  #domain({ domain, descriptors }: RouteObject, at: Path, caseSensitive: boolean): PlannedRoute['domain'] {
    if (domain === undefined) {
      if (descriptors !== undefined) this.#diagnostics.wrong([...at, 'descriptors'], 'descriptors without domain')
      return undefined
    }
    const sources = descriptors?.map((list, i) =>
      list.flatMap((entry, j) => this.#entry(entry, [...at, 'descriptors', i, j])),
    )
    const routing = { caseSensitive, strict: false }
    return {
      name: domain,
      descriptors: sources,
      readsBody: (sources ?? []).flat().some(({ readsBody }) => readsBody),
      view: (rules) => ROUTED_RULES.of(rules, domain, routing),
    }
  }

  #entry(entry: EntryForm, at: Path): readonly ValueSource[] {
    if (typeof entry === 'string') {
      const needed = missingFor(entry, this.#file.identity ?? {})
      if (needed !== undefined) this.#diagnostics.wrong(at, `"${entry}" needs ${needed}`)
      if (entry === 'everyone') this.#diagnostics.wrong(at, '"everyone" is for limits; leave the entry out')
      return [wordSource(entry)]
    }
    const { key, value, ...part } = entry
    const source = value === undefined ? partSource(part, key) : fixedSource(key, value)
    if (source === undefined) this.#diagnostics.wrong(at, 'an entry has one of value, header, parameter, json and form')
    return source === undefined ? [] : [source]
  }

  #shared(): SharedPlan {
    return {
      finder: this.#finder(),
      ceiling: this.#ceiling(),
      room: this.#room,
      priorityHeader: this.#priorityHeader(),
    }
  }

  /**
   * Returns what the file says. What it does not say is a default, which never is below what a limit of the file
   * allows.
   */
  #ceiling(): CeilingRates {
    const { ceiling = {} } = this.#file
    const given = (scope: CeilingScope): Limit | undefined => {
      const value = ceiling === 'off' ? 'off' : ceiling[scope]
      if (value === 'off') return undefined
      const rate = this.#diagnostics.rate(value, ['ceiling', scope]) ?? aboveLimits(DEFAULT_CEILING[scope], this.#file)
      return this.#diagnostics.attempt(['ceiling', scope], () => ceilingLimit(rate))
    }
    return { requests: given('requests'), per_ip: given('per_ip') }
  }

  #roomOf(queue: RoutesFile['queue']): RoomBounds {
    return {
      requests: queue?.requests ?? DEFAULT_ROOM.requests,
      perCaller: queue?.per_caller ?? DEFAULT_ROOM.perCaller,
      longestMs: this.#diagnostics.duration(queue?.longest, ['queue', 'longest']) ?? DEFAULT_ROOM.longestMs,
    }
  }

  #priorityHeader(): PriorityHeader | undefined {
    const given = this.#file.priority_header
    if (given === undefined) return undefined
    const { name: text, from } = typeof given === 'string' ? { name: given } : given
    const name = text.toLowerCase()
    if (from === undefined || from === 'proxies') return { name, from }
    const trust = this.#diagnostics.attempt(['priority_header', 'from'], () => new ProxyTrust({ trustedProxies: from }))
    return { name, from: trust ?? new ProxyTrust({ trustedProxies: [] }) }
  }

  #finder(): CallerFinder<GatewayRequest> {
    const made = this.#diagnostics.attempt(['identity'], () => new CallerFinder(this.#identity(), gatewayReader))
    return made ?? new CallerFinder({}, gatewayReader)
  }

  #identity(): IdentityOptions<GatewayRequest> {
    const { api_key, jwt, claims, ipv4_prefix, ipv6_prefix } = this.#file.identity ?? {}
    return {
      ...(api_key !== undefined && {
        apiKey: api_key as Exclude<IdentityOptions<GatewayRequest>['apiKey'], undefined>,
      }),
      ...(jwt !== undefined && { jwt: this.#jwt(jwt) }),
      ...(claims !== undefined && { claims: claims as NonNullable<IdentityOptions<GatewayRequest>['claims']> }),
      ...(ipv4_prefix !== undefined && { ipv4Prefix: ipv4_prefix }),
      ...(ipv6_prefix !== undefined && { ipv6Prefix: ipv6_prefix }),
    }
  }

  #jwt(jwt: NonNullable<NonNullable<RoutesFile['identity']>['jwt']>) {
    const { jwks_url, public_key_file, secret_env, algorithms, issuer, audience } = jwt
    const secret = secret_env === undefined ? undefined : this.#resources.variable(secret_env)
    if (secret_env !== undefined && secret === undefined) {
      this.#diagnostics.wrong(['identity', 'jwt', 'secret_env'], `the variable ${secret_env} is not set`)
    }
    return {
      ...(jwks_url !== undefined && { jwksUrl: jwks_url }),
      ...(public_key_file !== undefined && { publicKey: this.#resources.readFile(public_key_file).toString('utf8') }),
      ...(secret !== undefined && { secret }),
      ...(algorithms !== undefined && { algorithms }),
      ...(issuer !== undefined && { issuer }),
      ...(audience !== undefined && { audience }),
    }
  }

  #trust(): ProxyTrustOptions | undefined {
    const { trusted_proxies: trustedProxies, forwarded_header: forwardedHeader } = this.#file
    if (trustedProxies === undefined) return undefined
    const trust = { trustedProxies, ...(forwardedHeader && { forwardedHeader }) }
    this.#diagnostics.attempt(['trusted_proxies'], () => new ProxyTrust(trust))
    return trust
  }

  /** Refuses a field that passes anyway, or never: its author expects something else of it. */
  #passHeaders(): readonly string[] | undefined {
    const { pass_headers: names } = this.#file
    names?.forEach((name, i) => {
      if (kindOf(name.toLowerCase()) === Kind.origin) return
      this.#diagnostics.wrong(
        ['pass_headers', i],
        `${JSON.stringify(name)} is not a field that is removed from clients`,
      )
    })
    return names
  }

  #checkNames(routes: readonly PlannedRoute[]): void {
    const seen = new Map<string, number>()
    routes.forEach(({ name }, i) => {
      const before = seen.get(name)
      if (before !== undefined)
        this.#diagnostics.wrong(['routes', i], `the name ${JSON.stringify(name)} is taken by routes[${before}]`)
      seen.set(name, i)
    })
  }

  /** Has the routes found as the gateway will find them, to no upstream. */
  #checkTable({ routes, upstreams }: RoutingTable): void {
    if (this.#diagnostics.problems.count > 0) return
    const groups = new Map(
      Object.keys(upstreams).map((name) => [name, new UpstreamGroup({ addresses: [] }, [], () => () => {})]),
    )
    for (let i = 0; i < routes.length; i++) {
      // Each separately first, so that an error is reported for its route.
      this.#diagnostics.attempt(['routes', i], () => new Table({ routes: [routes[i]], upstreams }, groups))
    }
    if (this.#diagnostics.problems.count > 0) return
    this.#diagnostics.attempt(['routes'], () => new Table({ routes, upstreams }, groups))
  }

  #checkedRules(): readonly RuleObject[] {
    const value = this.#rules.file()
    // Errors already found are reported with the keys of the file.
    if (value === undefined || this.#diagnostics.problems.count > 0) return []
    try {
      compileRules([this.#rules.document(value, this.#diagnostics)])
    } catch (error) {
      if (!(error instanceof RulesError)) throw error
      for (const { code, where, detail } of error.errors) this.#diagnostics.problems.add(code, where, detail)
    }
    return [{ file: this.#name, value }]
  }

  /** Warns of what is allowed but hardly intended. */
  #warnings(routes: readonly PlannedRoute[]): readonly string[] {
    return [
      ...this.#odd,
      ...this.#unheardPriorities(),
      ...this.#chosenBudgets(routes),
      ...pathsAsSent(routes),
      ...bodyWarnings(routes),
    ]
  }

  /** Warns of a priority field from which no caller is trusted, unless a flag names trusted proxies. */
  #unheardPriorities(): readonly string[] {
    const { priority_header: given, trusted_proxies: trusted } = this.#file
    if (given === undefined) return []
    const from = typeof given === 'string' ? undefined : given.from
    const isHeard =
      from === 'proxies' ? trusted !== undefined && trusted !== 0 : from !== undefined || Array.isArray(trusted)
    if (isHeard) return []
    const needed = from === 'proxies' ? 'trusted_proxies' : 'from, or trusted_proxies by address'
    return [`priority_header: no caller is trusted; set ${needed} (or --trusted-proxies)`]
  }

  /** #chosenBudgets name routes whose callers choose their own budget. */
  #chosenBudgets(routes: readonly PlannedRoute[]): readonly string[] {
    return routes.flatMap(({ name, limits, domain }) => {
      const isByKey = limits.some(({ owners: [first = []] }) => first.some(({ key }) => key === 'api_key'))
      const isNet = limits.some(({ owners: [first] }) => first === undefined || isAddress(first))
      if (!isByKey || isNet || domain !== undefined) return []
      return [`route "${name}" is limited by API key alone, and keys are believed: add a limit by ip`]
    })
  }
}

/** Names routes whose upstream may read another path than the limits did. */
function pathsAsSent(routes: readonly PlannedRoute[]): readonly string[] {
  const names = routes.filter(({ forwardPath }) => forwardPath === 'as_sent').map(({ name }) => JSON.stringify(name))
  if (names.length === 0) return []
  return [
    `forward_path: as_sent (${names.join(', ')}): an upstream that reads a path in another way than the gateway serves it past its limits; leave forward_path out, or be sure of the upstream`,
  ]
}

/**
 * Returns how much of a body is looked into, and how much there may be of it. Unless the route says otherwise, nothing
 * is let through that was not looked into: a part further behind would be seen by the app alone.
 */
function bodyBounds(
  { peek = DEFAULT_PEEK_BYTES, max_body: maxBodyBytes }: RouteObject,
  limits: readonly PlannedLimit[],
  domain: PlannedRoute['domain'],
): Pick<PlannedRoute, 'peekBytes' | 'maxBodyBytes'> {
  const readsBody = limits.some((limit) => limit.readsBody) || domain?.readsBody === true
  if (readsBody) return { peekBytes: peek, maxBodyBytes: maxBodyBytes ?? peek }
  return maxBodyBytes === undefined ? {} : { maxBodyBytes }
}

/** Has a limit wait for the body where one that does replaces it: whether it applies is not known before. */
function withReplaced(limits: readonly CompiledLimit[]): readonly PlannedLimit[] {
  const late = new Set(limits.filter(({ planned }) => planned.readsBody))
  for (const { written } of late) {
    const replaced = new Set(written.flatMap(({ rule }) => (rule.replaces ?? []).map(({ name }) => name)))
    for (const each of limits) if (each.written.some(({ name }) => replaced.has(name))) late.add(each)
  }
  return limits.map((each) => (late.has(each) ? { ...each.planned, readsBody: true } : each.planned))
}

/** Names routes that look into bodies, and let some pass unseen or uncounted. */
function bodyWarnings(routes: readonly PlannedRoute[]): readonly string[] {
  return routes.flatMap(({ name, peekBytes = 0, maxBodyBytes = 0, limits, domain }) => {
    if (peekBytes === 0) return []
    const unseen = `route "${name}" looks into the first ${peekBytes} bytes of bodies of up to ${maxBodyBytes}: what stands further behind is counted by address; raise peek, or lower max_body`
    const late = `route "${name}" has no limit that counts a request before its body is there: add one by ip`
    const isCounted = limits.some(({ readsBody }) => !readsBody) || domain?.readsBody === false
    return [...(maxBodyBytes > peekBytes ? [unseen] : []), ...(isCounted ? [] : [late])]
  })
}

/** Makes a name of what a route is about. `*` stands for anything in rules. */
function nameOf({ host, path = '/*', methods }: RouteObject): string {
  const text = `${methods === undefined ? '' : `${methods.join('+')} `}${host ?? ''}${path}`
  return text.replace(/\/\*$/, '/').replaceAll('*', 'any').slice(0, 128)
}
