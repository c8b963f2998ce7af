import { durationText } from 'sluice/internal/core/duration-text'
import type { ApiKey, LimitState } from '../../../api/operations.ts'

/** A LimitGroup is the limits that stand together: of the customer itself, of one key, or extra budget. */
export interface LimitGroup {
  readonly kind: 'customer' | 'key' | 'grants'
  /** The id of the key; empty for the other kinds. */
  readonly keyId: string
  readonly title: string
  readonly limits: readonly LimitState[]
}

/** groupLimits puts limits together by whom they are for, in an order that does not change with what is used. */
export function groupLimits(limits: readonly LimitState[], keys: readonly ApiKey[]): readonly LimitGroup[] {
  const groups = new Map<string, { kind: LimitGroup['kind']; keyId: string; title: string; limits: LimitState[] }>()
  for (const limit of limits) {
    const { kind, keyId } = placeOf(limit)
    const id = `${kind} ${keyId}`
    const title =
      kind === 'key' ? keyTitle(limit, keys) : kind === 'grants' ? 'Extra budget' : 'The customer as a whole'
    const group = groups.get(id) ?? { kind, keyId, title, limits: [] }
    group.limits.push(limit)
    groups.set(id, group)
  }
  const order = ['customer', 'grants', 'key']
  return [...groups.values()].sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind))
}

function placeOf({ source, api_key_id }: LimitState): { kind: LimitGroup['kind']; keyId: string } {
  if (source.kind === 'grant') return { kind: 'grants', keyId: '' }
  return api_key_id === null ? { kind: 'customer', keyId: '' } : { kind: 'key', keyId: api_key_id }
}

function keyTitle({ api_key_id, api_key_prefix }: LimitState, keys: readonly ApiKey[]): string {
  const name = keys.find(({ id }) => id === api_key_id)?.name ?? ''
  return [`Key ${api_key_prefix ?? ''}…`, name].filter(Boolean).join(' · ')
}

interface Named {
  readonly descriptor: string
  readonly above?: string
  readonly is_pattern?: boolean
}

/** titleOf names what a limit counts. */
export function titleOf({ descriptor, above = '', is_pattern = false }: Named): string {
  const open = is_pattern ? openText(descriptor) : descriptor
  const below = descriptor === 'default' ? 'Every request' : open
  return above === '' ? below : `${is_pattern ? openText(above) : above} · ${below}`
}

/** openText says of levels that are a key alone that they have any value. */
function openText(path: string): string {
  if (/^[^=]*:/.test(path) || path === 'default') return path
  const levels = path.split(LEVEL)
  if (levels.length === 1 && !path.includes('=')) return `${path}: any value`
  return levels.map((level) => (level.includes('=') ? level : `${level}=*`)).join('/')
}

/** scopeOf names it within a sentence. */
export const scopeOf = ({ descriptor }: { readonly descriptor: string }): string =>
  descriptor === 'default' ? 'every request' : descriptor

/** spokenOf names a limit so that it differs from the others when it is heard alone. */
export const spokenOf = (limit: LimitState): string =>
  limit.api_key_prefix === null ? scopeOf(limit) : `${scopeOf(limit)}, key ${limit.api_key_prefix}…`

/** budgetOf returns all that can be used in one go: of a bucket that is its burst, which `limit` does not include. */
export const budgetOf = ({ used, remaining }: LimitState): number => used + remaining

export const isExhausted = ({ is_use_known, remaining, source }: LimitState): boolean =>
  is_use_known && remaining <= 0 && source.kind !== 'grant'

/** fullest returns the limit of which the largest share is used: the one that is raised most. */
export function fullest(limits: readonly LimitState[]): LimitState | undefined {
  const share = (each: LimitState): number => (each.is_use_known ? each.used / Math.max(1, budgetOf(each)) : 0)
  return limits.toSorted((a, b) => share(b) - share(a))[0]
}

/** rateText says a limit in words: 600 a minute. */
export function rateText(limit: number, unit: string | null, windowMs: number): string {
  const per = unit === null ? `in ${durationText(windowMs)}` : unit === 'hour' ? 'an hour' : `a ${unit}`
  return `${limit.toLocaleString()} ${per}`
}

export const UNITS = ['second', 'minute', 'hour', 'day', 'week', 'month', 'year'] as const
export type Unit = (typeof UNITS)[number]

export const asUnit = (unit: string | null): Unit | undefined => UNITS.find((each) => each === unit)

/** idOf identifies a limit for as long as the page shows it. */
export const idOf = ({ domain, rule_id, above, descriptor, api_key_id, source }: LimitState): string =>
  [domain, rule_id, above, descriptor, api_key_id, source.kind === 'grant' ? source.id : ''].join(' ')

/** What a raise applies to: the chosen limit, all of its domain, or all of the customer. */
export type RaiseScope = 'rule' | 'domain' | 'all'

/** scopeFields says what an override is for. One for all says so: a rule that comes later is changed, too. */
export function scopeFields(scope: RaiseScope, { domain, rule_id }: Pick<LimitState, 'domain' | 'rule_id'>) {
  if (scope === 'all') return { all: true }
  return scope === 'domain' ? { domain } : { domain, rule: rule_id }
}

/** scopesOf lists what a raise can be for. Where there is nothing wider, there is no choice. */
export function scopesOf(limits: readonly LimitState[], raised: LimitState): readonly RaiseScope[] {
  const others = limits.filter((each) => each.descriptor === raised.descriptor && each.source.kind !== 'grant')
  const isInDomain = others.some(({ domain, rule_id }) => domain === raised.domain && rule_id !== raised.rule_id)
  const isElsewhere = others.some(({ domain }) => domain !== raised.domain)
  return [
    'rule',
    ...(isInDomain ? (['domain'] as const) : []),
    ...(isInDomain || isElsewhere ? (['all'] as const) : []),
  ]
}

/** forText says what an override is for. */
export function forText({ domain, rule }: { readonly domain: string | null; readonly rule: string | null }): string {
  if (domain === null) return 'every rule'
  return rule === null ? `every rule of ${domain}` : `${domain}/${rule}`
}

interface Entry {
  readonly key: string
  readonly value: string
}

/**
 * entriesOf returns the descriptor that leads to a counter of the customer's id, by the path of its rule. Undefined for a counter of an
 * API key, which no one keeps, and where the path does not say it.
 */
export function entriesOf(limit: LimitState, customerId: string): Entry[] | undefined {
  const { above, descriptor, rule_id, api_key_id, source, is_pattern } = limit
  if (api_key_id !== null || source.kind === 'grant' || is_pattern) return undefined
  const before = above === '' ? [] : above.split(BELOW).map(entryOf)
  const caller = rule_id.replace(/#\d+$/, '').split(LEVEL)[before.length]
  if (caller === undefined || caller === '' || caller.includes('=')) return undefined
  const below = pathOf(descriptor)
  return [...before, { key: caller, value: customerId }, ...(below === '' ? [] : below.split(BELOW).map(entryOf))]
}

/** A level begins behind a slash; a slash may be part of a value, too. */
const LEVEL = /\/(?=[^/=]+(?:=|$))/
const BELOW = /\/(?=[^/=]+=)/

function pathOf(descriptor: string): string {
  if (descriptor === 'default') return ''
  return /^[^:=]+:/.test(descriptor) ? descriptor.replace(':', '=') : descriptor
}

function entryOf(level: string): Entry {
  const at = level.indexOf('=')
  return { key: level.slice(0, at), value: level.slice(at + 1) }
}

/** remainingOf returns how much of a grant remains. Undefined: it is not in force, or limits could not be read. */
export function remainingOf(limits: readonly LimitState[] | undefined, grantId: string): number | undefined {
  return limits?.find(({ source }) => source.kind === 'grant' && source.id === grantId)?.remaining
}

/** burstOf keeps the share of a bucket's burst: without it, a raise would make the bucket as small as its rate. */
export function burstOf(limit: LimitState, count: number): { readonly burst?: number } {
  const budget = budgetOf(limit)
  if (!limit.is_use_known || budget <= limit.limit || limit.limit === 0) return {}
  return { burst: Math.round((budget / limit.limit) * count) }
}
