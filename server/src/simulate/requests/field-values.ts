import { formatIp } from 'sluice/internal/core/identity/ip'
import { ipKey, parseNode } from 'sluice/internal/core/identity/ip-key'
import type { ProxyTrust } from 'sluice/internal/core/identity/proxy-trust'
import type { Slots } from '../traffic/line-reader.ts'

/** Returns the value of a field of a line; '' where the line does not have it. */
export type FieldValue = (values: readonly string[]) => string

/** Fields that are made of what a log has, with the fields that they need. */
const DERIVED: ReadonlyMap<string, readonly string[]> = new Map([
  ['ip', ['address', 'forwarded_for']],
  ['remote_address', ['address', 'forwarded_for']],
  ['path', ['target']],
  ['endpoint', ['method', 'target']],
])

/** Returns which fields of a log a named field is made of. */
export function fieldsNeeded(name: string, direct: ReadonlySet<string>): readonly string[] {
  return direct.has(name) ? [name] : (DERIVED.get(name) ?? [name])
}

/** Names fields that templates may use, in addition to those of the log. */
export const DERIVED_FIELDS: readonly string[] = [...DERIVED.keys()]

/** What the values of fields depend on. */
export interface FieldPlaces {
  readonly slots: Slots
  /** Fields that are taken as they are. */
  readonly direct: ReadonlySet<string>
  /** Whose X-Forwarded-For is believed. */
  readonly trust: ProxyTrust | undefined
}

/** Returns how the value of a field is read. */
export function fieldValue(name: string, { slots, direct, trust }: FieldPlaces): FieldValue {
  if (direct.has(name)) return valueAt(slots.get(name) ?? -1)
  if (name === 'ip') return ipOf(clientOf(slots, trust))
  if (name === 'remote_address') return plainAddressOf(clientOf(slots, trust))
  const at = (field: string): number => slots.get(field) ?? -1
  if (name === 'path') return pathAt(at('target'))
  if (name === 'endpoint') return endpointAt(at('method'), at('target'))
  return valueAt(at(name))
}

function valueAt(slot: number): FieldValue {
  return slot < 0 ? () => '' : (values) => values[slot]
}

function pathAt(target: number): FieldValue {
  return target < 0 ? () => '' : (values) => pathOf(values[target])
}

function endpointAt(method: number, target: number): FieldValue {
  if (method < 0 || target < 0) return () => ''
  return (values) => {
    const path = pathOf(values[target])
    return path === '' || values[method] === '' ? '' : `${values[method]} ${path}`
  }
}

/** Returns a target without its query, and without scheme and host. */
function pathOf(target: string): string {
  const start = target.charCodeAt(0) === 0x2f ? 0 : originEnd(target)
  const query = target.indexOf('?', start)
  const end = query < 0 ? target.length : query
  return start === 0 && end === target.length ? target : target.slice(start, end)
}

function originEnd(target: string): number {
  const scheme = target.indexOf('://')
  if (scheme < 0) return 0
  const slash = target.indexOf('/', scheme + 3)
  return slash < 0 ? target.length : slash
}

/**
 * Returns the address of the client. Without proxies that are trusted, it is that of the peer; a log without peers
 * (Envoy's default) has it at the end of X-Forwarded-For, where Envoy writes it.
 */
function clientOf(slots: Slots, trust: ProxyTrust | undefined): FieldValue {
  const [address = -1, forwarded = -1] = [slots.get('address'), slots.get('forwarded_for')]
  return (values) => {
    const field = forwarded < 0 ? '' : values[forwarded]
    const peer = address < 0 ? '' : values[address]
    if (peer !== '') return trust === undefined ? peer : (trust.clientAddress(peer, field) ?? peer)
    const comma = field.lastIndexOf(',')
    const last = field.slice(comma + 1).trim()
    if (trust === undefined || comma < 0) return last
    return trust.clientAddress(last, field.slice(0, comma)) ?? last
  }
}

/** Returns the address as middleware and gateway count it: an IPv6 address by its /64. */
function ipOf(client: FieldValue): FieldValue {
  return (values) => {
    const text = client(values)
    return text === '' ? '' : (ipKey(text) ?? text)
  }
}

/** Returns the address without a port, as Envoy sends it. */
function plainAddressOf(client: FieldValue): FieldValue {
  return (values) => {
    const text = client(values)
    if (!text.includes(':')) return text
    const ip = parseNode(text)
    return ip === undefined ? text : formatIp(ip)
  }
}
