import { got } from 'sluice/internal/core/errors'
import { MAX_COUNT } from 'sluice/internal/core/limit'
import type { Unit } from 'sluice/internal/core/limit-options'
import type { Entry } from 'sluice/internal/core/request'
import { UNIT_MS } from 'sluice/internal/core/rules/compile-rule'
import type { RateLimitRule } from 'sluice/internal/core/rules/schema'
import type { GatewayRequest } from '../../gateway/gate.ts'
import type { Owner, PlannedLimit, PlannedRoute, SettleSource, ValueSource } from '../planned-route.ts'
import { bodyNumber, formSource, headerSource, jsonSource, parameterSource, wordSource } from '../value-source.ts'
import type { RoomBounds } from '../waiting-room.ts'
import type { Diagnostics, Path } from './diagnostics.ts'
import type { WrittenLimit } from './rule-writer.ts'
import {
  type IdentityObject,
  type LimitObject,
  type MemberForm,
  OWN_LIMIT_FIELDS,
  type OwnerForm,
  type PartForm,
  type RoutesFile,
  type StatusForm,
} from './schema.ts'

/** What limits inherit of where they stand. */
export interface LimitContext {
  readonly diagnostics: Diagnostics
  readonly identity: IdentityObject
  /** The route, or none for limits of all requests. */
  readonly route: string | undefined
  readonly priority: number | undefined
  readonly room: RoomBounds
  /** Reports what is allowed, and hardly meant. */
  readonly warn: (text: string) => void
  /** The path of the list. */
  readonly at: Path
}

/** A limit as requests meet it, and as rules. */
export interface CompiledLimit {
  readonly planned: PlannedLimit
  readonly written: readonly WrittenLimit[]
}

/** Makes the limits of a route, or of a whole file. */
export function compileLimits(
  limits: NonNullable<RoutesFile['limits']>,
  context: LimitContext,
): readonly CompiledLimit[] {
  const names = new Set<string>()
  return limits.flatMap((form, i) => {
    const at = [...context.at, i]
    const limit = typeof form === 'string' ? ofRate(form, at, context.diagnostics) : form
    if (limit === undefined) return []
    const name = limit.name ?? nameOf(context.route, i, limits.length)
    if (names.has(name)) context.diagnostics.wrong(at, `name: ${got(name)} is taken by another limit of this list`)
    names.add(name)
    return [compileLimit(limit, name, at, context)]
  })
}

function ofRate(text: string, at: Path, diagnostics: Diagnostics): LimitObject | undefined {
  const rate = diagnostics.rate(text, at)
  return rate && { requests_per_unit: rate.count, window: rate.windowMs }
}

function nameOf(route: string | undefined, i: number, count: number): string {
  return count === 1 ? (route ?? 'all') : `${route ?? 'all'} ${i + 1}`
}

function compileLimit(limit: LimitObject, name: string, at: Path, context: LimitContext): CompiledLimit {
  const { diagnostics, route, priority } = context
  checkCombinations(limit, at, diagnostics)
  const forms = [limit.by ?? defaultOwners(context.identity)].flat()
  const isShared = forms.includes('everyone')
  const separate = forms.slice(0, isShared ? forms.indexOf('everyone') : undefined)
  const owners = separate.flatMap((owner, i) =>
    ownerOf(owner, [...at, 'by', ...(Array.isArray(limit.by) ? [i] : [])], context),
  )
  if (!isShared && !owners.some(isAddress)) owners.push([wordSource('ip')])
  const isShadow = limit.shadow_mode === true
  const rule = {
    ...ruleOf(limit, at, context),
    name,
    ...(priority !== undefined && limit.priority === undefined && { priority }),
  }
  const base = { owners, isShared, isShadow, at }
  const ban = banOf(limit, name, at, context)
  const written: WrittenLimit[] = [{ ...base, name, rule }, ...ban.map((each) => ({ ...base, ...each }))]
  const planned = { ...plannedLimit(limit, at, context, owners), prefix: prefixOf(name, route) }
  return { planned: { ...planned, escalation: escalationOf(planned, ban, route) }, written }
}

/** Returns the entries that separate limits of one route and of several. */
function prefixOf(name: string, route: string | undefined): readonly Entry[] {
  return [...(route === undefined ? [] : [{ key: 'route', value: route }]), { key: 'limit', value: name }]
}

function escalationOf(limit: PlannedLimit, ban: readonly BanLimit[], route: string | undefined) {
  const prefixes = (kind: BanLimit['kind']) =>
    ban.filter((each) => each.kind === kind).map(({ name }) => prefixOf(name, route))
  const [strikes] = prefixes('strikes')
  if (strikes === undefined) return undefined
  const [offences] = prefixes('offences')
  return { strikes, offences, blocks: prefixes('block').map((prefix) => lookAt(limit, prefix)) }
}

/** Returns a block of the same callers, at which a request only looks. */
function lookAt(limit: PlannedLimit, prefix: readonly Entry[]): PlannedLimit {
  return { ...limit, prefix, cost: () => 0, delay: undefined, settle: undefined, statuses: undefined, isBlock: true }
}

function plannedLimit(
  limit: LimitObject,
  at: Path,
  { diagnostics }: LimitContext,
  owners: readonly Owner[],
): Omit<PlannedLimit, 'prefix'> {
  const delayMs = diagnostics.duration(limit.escalate?.delay, [...at, 'escalate', 'delay'])
  return {
    owners,
    readsBody: typeof limit.reserve === 'object' || owners.flat().some((source) => source.readsBody),
    cost: costOf(limit),
    statuses: limit.on_status && new Set(limit.on_status.flatMap(statusesOf)),
    settle: limit.settle && settleOf(limit.settle),
    delay:
      delayMs === undefined || delayMs === 0
        ? undefined
        : { ms: delayMs, leftShare: 1 - (limit.escalate?.delay_from ?? 0.8) },
    escalation: undefined,
    isBlock: false,
  }
}

function checkCombinations(limit: LimitObject, at: Path, diagnostics: Diagnostics): void {
  const { queue, algorithm, burst, settle, reserve, escalate } = limit
  if (queue !== undefined && algorithm !== undefined && algorithm !== 'leaky_bucket') {
    diagnostics.wrong([...at, 'queue'], `queue cannot be combined with algorithm ${algorithm}, only with leaky_bucket`)
  }
  if (queue !== undefined && burst !== undefined)
    diagnostics.wrong([...at, 'queue'], 'queue and burst cannot be combined: they are the same')
  if (settle !== undefined && Object.keys(settle).length === 0)
    diagnostics.wrong([...at, 'settle'], 'it names no header, json or sse')
  if (reserve !== undefined && settle === undefined) diagnostics.wrong([...at, 'reserve'], 'reserve without settle')
  if (typeof reserve === 'object' && (reserve.min ?? 0) > (reserve.max ?? MAX_COUNT))
    diagnostics.wrong([...at, 'reserve'], `min is ${reserve.min} and max is ${reserve.max}; min may not be above max`)
  if (algorithm === 'concurrency' && (settle ?? limit.on_status) !== undefined) {
    diagnostics.wrong([...at], 'settle and on_status apply only to limits that count, not to concurrency limits')
  }
  if (escalate !== undefined && (escalate.block_after === undefined) !== (escalate.block_for === undefined)) {
    diagnostics.wrong([...at, 'escalate'], 'block_after and block_for need each other')
  }
}

/** Returns the part of a limit that is in the words of the rule language. */
function ruleOf({ queue, ...limit }: LimitObject, at: Path, context: LimitContext): RateLimitRule {
  const own = new Set(Object.keys(OWN_LIMIT_FIELDS))
  const rule = Object.fromEntries(Object.entries(limit).filter(([key]) => !own.has(key))) as RateLimitRule
  if (queue === undefined) return rule
  warnOfWaits(queue, limit, at, context)
  // The request whose turn it is fits, too: it does not wait.
  return { algorithm: 'leaky_bucket', ...rule, burst: queue + 1 }
}

/** Reports a queue in which more requests could wait than the gateway holds. */
function warnOfWaits(queue: number, limit: Omit<LimitObject, 'queue'>, at: Path, context: LimitContext): void {
  const { diagnostics, room, warn } = context
  const { requests_per_unit: count, unit, window } = limit
  const windowMs =
    unit === undefined ? diagnostics.duration(window, [...at, 'window']) : UNIT_MS[unit.toLowerCase() as Unit]
  if (count === undefined || windowMs === undefined || windowMs === 0) return
  const inTime = Math.floor((room.longestMs * count) / windowMs)
  const held = Math.min(room.requests, inTime)
  if (held >= queue) return
  const key = inTime < room.requests ? 'queue.longest' : 'queue.requests'
  warn(`of a queue of ${queue}, ${held} can wait: raise ${key}, or make the queue shorter`)
}

/** One of the limits that count refusals and blocks. */
interface BanLimit {
  readonly kind: 'strikes' | 'offences' | 'block'
  readonly name: string
  readonly rule: RateLimitRule
}

/**
 * Returns the limits of callers that do not stop: of refusals, the blocks that the last of them leads to, and, where
 * those become longer, of blocks. Each begins with its first hit. Refusals are counted for as long as the first block
 * lasts, so that none outlives the block that it led to.
 */
function banOf(limit: LimitObject, name: string, at: Path, context: LimitContext): readonly BanLimit[] {
  const { escalate, response, priority } = limit
  const times = blockTimes(escalate, at, context)
  const [first] = times
  if (escalate?.block_after === undefined || first === undefined) return []
  const shared = {
    ...(response !== undefined && { response }),
    ...(priority !== undefined && { priority }),
  } as const
  const anchored = { ...shared, algorithm: 'fixed_window', anchor: 'first_hit' } as const
  const ofKind = (kind: BanLimit['kind'], suffix: string, rule: RateLimitRule): BanLimit => {
    return { kind, name: `${name} ${suffix}`, rule: { ...rule, name: `${name} ${suffix}` } }
  }
  const blocks = times.map((window, i) =>
    ofKind('block', i === 0 ? 'block' : `block ${i + 1}`, { ...anchored, window, requests_per_unit: 1 }),
  )
  const strikes = ofKind('strikes', 'strikes', {
    ...anchored,
    window: first,
    requests_per_unit: escalate.block_after,
  })
  if (times.length === 1) return [strikes, ...blocks]
  const window =
    context.diagnostics.duration(escalate.forgive_after, [...at, 'escalate', 'forgive_after']) ?? FORGIVE_MS
  const offences = { ...shared, algorithm: 'sliding_log', window, requests_per_unit: times.length } as const
  return [strikes, ofKind('offences', 'offences', offences), ...blocks]
}

/** For how long a block counts towards the next one, unless the file says. */
const FORGIVE_MS = 86_400_000

/** Returns how long the first block is, the second, and so on: the last one is for all that follow. */
function blockTimes(escalate: LimitObject['escalate'], at: Path, { diagnostics }: LimitContext): readonly number[] {
  const { block_for: given, forgive_after: forgive } = escalate ?? {}
  const list = given === undefined ? [] : Array.isArray(given) ? given : [given]
  const path = [...at, 'escalate']
  const times = list.map((time, i) =>
    diagnostics.duration(time, Array.isArray(given) ? [...path, 'block_for', i] : [...path, 'block_for']),
  )
  const known = times.filter((time) => time !== undefined)
  if (known.some((time, i) => i > 0 && time < (known[i - 1] as number)))
    diagnostics.wrong([...path, 'block_for'], 'a block is shorter than the one before it')
  if (forgive !== undefined && list.length < 2)
    diagnostics.wrong([...path, 'forgive_after'], 'forgive_after without a list of times in block_for')
  const forgiveMs = diagnostics.duration(forgive, [...path, 'forgive_after']) ?? FORGIVE_MS
  if (list.length > 1 && forgiveMs <= (known.at(-1) ?? 0))
    diagnostics.wrong(
      [...path, forgive === undefined ? 'block_for' : 'forgive_after'],
      'a block is forgiven before it ends',
    )
  return known
}

function costOf({ reserve, requests_per_unit }: LimitObject): PlannedLimit['cost'] {
  if (reserve === undefined) return ({ route }) => (route as PlannedRoute).cost
  if (typeof reserve === 'number') return () => reserve
  const { json, default: usual, max = MAX_COUNT } = reserve
  const least = Math.min(reserve.min ?? leastOf(usual, requests_per_unit), max)
  const missing = Math.min(usual ?? least, max)
  return (request: GatewayRequest) => {
    const named = bodyNumber(request, json)
    return named === undefined ? missing : Math.max(least, Math.min(named, max))
  }
}

/**
 * Returns the least that a request reserves if the file does not say: callers name their own estimates, and with an
 * estimate of 1 each, as many concurrent requests as a budget has tokens would overdraw it.
 */
function leastOf(usual: number | undefined, limit: number | null | undefined): number {
  return Math.max(1, Math.min(usual || MAX_COUNT, Math.ceil((limit ?? 1) / 100)))
}

function settleOf({ header, json, sse }: NonNullable<LimitObject['settle']>): SettleSource {
  return { header: header?.toLowerCase(), json, sse }
}

function statusesOf(status: StatusForm): readonly number[] {
  if (typeof status === 'number') return [status]
  const first = Number(status[0]) * 100
  return Array.from({ length: 100 }, (_, i) => first + i)
}

/** Returns the default owners: the user, else the API key, else the address, as far as the identity provides them. */
function defaultOwners({ jwt, api_key }: IdentityObject): readonly OwnerForm[] {
  return [...(jwt ? ['user' as const] : []), ...(api_key ? ['api_key' as const] : []), 'ip']
}

function ownerOf(form: OwnerForm, at: Path, context: LimitContext): readonly Owner[] {
  if (typeof form === 'string' || form.all === undefined)
    return memberSource(form, at, context).map((source) => [source])
  const { all, ...part } = form
  if (Object.keys(part).length > 0) context.diagnostics.wrong(at, 'all stands alone; put the other parts into its list')
  const sources = all.flatMap((member, i) => {
    if (member === 'everyone') context.diagnostics.wrong([...at, 'all', i], '"everyone" is no part of a combination')
    return memberSource(member, [...at, 'all', i], context)
  })
  if (new Set(sources.map(({ key }) => key)).size < sources.length)
    context.diagnostics.wrong(at, 'all names a part twice')
  return [sources]
}

function memberSource(member: MemberForm, at: Path, { diagnostics, identity }: LimitContext): readonly ValueSource[] {
  if (typeof member !== 'string') {
    const source = partSource(member, undefined)
    if (source === undefined) diagnostics.wrong(at, 'it names one of header, parameter, json and form')
    return source === undefined ? [] : [source]
  }
  const needed = missingFor(member, identity)
  if (needed !== undefined) diagnostics.wrong(at, `by: "${member}" needs ${needed}`)
  return [wordSource(member)]
}

/** isAddress: every request has one. */
export function isAddress(owner: Owner | undefined): boolean {
  return owner?.length === 1 && owner[0].key === 'ip'
}

/**
 * Returns what an identity lacks to provide a part of the caller: without it, all callers would be counted by address.
 */
export function missingFor(word: string, { jwt, api_key, claims }: IdentityObject): string | undefined {
  if (word === 'api_key') return api_key ? undefined : 'identity.api_key'
  if (word === 'user') return jwt === undefined ? 'identity.jwt' : undefined
  if (word !== 'tenant' && word !== 'tier') return undefined
  return jwt !== undefined && claims?.[word] !== undefined ? undefined : `identity.jwt and identity.claims.${word}`
}

/** Returns a part of the request; undefined where not exactly one is named. */
export function partSource(
  { header, parameter, json, form }: PartForm,
  key: string | undefined,
): ValueSource | undefined {
  if ([header, parameter, json, form].filter((each) => each !== undefined).length !== 1) return undefined
  if (header !== undefined) return headerSource(key ?? `header.${header.toLowerCase()}`, header)
  if (parameter !== undefined) return parameterSource(key ?? `parameter.${parameter}`, parameter)
  return json === undefined
    ? formSource(key ?? `form.${form}`, form as string)
    : jsonSource(key ?? `json.${json}`, json)
}
