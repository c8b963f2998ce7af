import { cgiName, FieldSet, Kind } from './fields.ts'
import type { Fields } from './gate.ts'

/** What the gateway sends to the upstream about where a request came from. */
export interface Origin {
  readonly method: string
  readonly peer: string
  readonly scheme: string
  readonly authority: string
  /** The peer is a trusted proxy: what it says about others is kept. */
  readonly isTrusted: boolean
  /** Fields, by their names in lower case, that clients may send as well. */
  readonly passed: ReadonlySet<string>
  readonly id: string
  readonly via: string
  /** A field that is not forwarded, by its name in lower case; nor is one that CGI reads as the same. */
  readonly hidden?: string | undefined
}

/**
 * Returns the fields of a request as they are forwarded. Hop-by-hop fields are removed first, so that no client can
 * have the gateway's own fields removed by naming them in Connection.
 */
export function outgoingFields(fields: FieldSet, origin: Origin): string[] {
  const { list, kinds } = fields
  const nominated = fields.nominated()
  const out: string[] = []
  let forwardedFor = ''
  let forwarded = ''
  let said = 0
  let cookies = ''
  const { hidden } = origin
  for (let i = 0; i < kinds.length; i++) {
    const name = list[2 * i] as string
    const value = list[2 * i + 1] as string
    if (nominated !== undefined && isNominated(nominated, name)) continue
    if (hidden !== undefined && isSameName(name, hidden)) continue
    const kind = kinds[i]
    if (kind === Kind.ordinary || kind === Kind.date || kind === Kind.trailer) out.push(name, value)
    else if (kind === Kind.maxForwards) out.push(name, forwardsLeft(value, origin.method))
    else if (kind === Kind.cookie) cookies += cookies === '' ? value : `; ${value}`
    else if (!origin.isTrusted && !(kind === Kind.origin && origin.passed.has(name.toLowerCase()))) continue
    else if (kind === Kind.forwardedFor) forwardedFor += `${value}, `
    else if (kind === Kind.forwarded) forwarded += `${value}, `
    else if (kind === Kind.origin) {
      said |= originBit(name)
      out.push(name, value)
    }
  }
  if (cookies !== '') out.push('cookie', cookies)
  const { peer, scheme, authority } = origin
  out.push('x-forwarded-for', forwardedFor + peer)
  if ((said & PROTO) === 0) out.push('x-forwarded-proto', scheme)
  if ((said & HOST) === 0 && authority !== '') out.push('x-forwarded-host', authority)
  out.push('forwarded', forwarded + element(peer, scheme, authority))
  out.push('via', origin.via, 'x-request-id', origin.id)
  return out
}

function isSameName(name: string, hidden: string): boolean {
  if (name.length !== hidden.length) return false
  const lower = name.toLowerCase()
  return lower === hidden || cgiName(lower) === cgiName(hidden)
}

/** Counts down where a client counts hops (RFC 9110, 7.6.2). */
function forwardsLeft(value: string, method: string): string {
  return (method === 'OPTIONS' || method === 'TRACE') && /^[1-9]\d{0,5}$/.test(value)
    ? String(Number(value) - 1)
    : value
}

const PROTO = 1
const HOST = 2

function originBit(name: string): number {
  const lower = name.toLowerCase()
  return lower === 'x-forwarded-proto' ? PROTO : lower === 'x-forwarded-host' ? HOST : 0
}

/** Formats one hop of Forwarded (RFC 7239): what has a colon or a bracket is quoted. */
function element(peer: string, scheme: string, authority: string): string {
  // The address of a socket has a colon where it is one of IPv6, and nowhere else.
  const node = peer.includes(':') ? `"[${peer}]"` : peer === '' ? 'unknown' : peer
  if (authority === '') return `for=${node};proto=${scheme}`
  return `for=${node};host=${/[^\w.-]/.test(authority) ? `"${authority}"` : authority};proto=${scheme}`
}

/**
 * Returns the fields of an answer as they are forwarded. `extra` has the gate's fields, which replace the upstream's of
 * the same name.
 */
export function answerFields(fields: FieldSet, extra: Fields | undefined, id: string): string[] {
  const { list, kinds } = fields
  const nominated = fields.nominated()
  const out: string[] = []
  for (let i = 0; i < kinds.length; i++) {
    const kind = kinds[i] as number
    if (kind !== Kind.ordinary && !STAYS_IN_ANSWERS.has(kind)) continue
    const name = list[2 * i] as string
    if (nominated !== undefined && isNominated(nominated, name)) continue
    if (extra !== undefined && hasName(extra, name)) continue
    out.push(name, list[2 * i + 1] as string)
  }
  if (!fields.hasDate) out.push('date', httpDate())
  if (extra !== undefined) for (const text of extra) out.push(text)
  out.push('x-request-id', id)
  return out
}

const STAYS_IN_ANSWERS: ReadonlySet<number> = new Set([
  Kind.date,
  Kind.trailer,
  Kind.host,
  Kind.cookie,
  Kind.origin,
  Kind.forwarded,
  Kind.forwardedFor,
  Kind.expect,
  Kind.maxForwards,
])

/**
 * Returns the trailers of a request as they are forwarded, without fields that only proxies may set, no matter who
 * sends them.
 */
export function requestTrailers(trailers: FieldSet | undefined, of: FieldSet): Fields | undefined {
  if (trailers === undefined || !trailers.kinds.includes(Kind.origin)) return trailerFields(trailers, of)
  const kept = new FieldSet()
  trailers.kinds.forEach((kind, i) => {
    if (kind !== Kind.origin) kept.add(trailers.list[2 * i] as string, trailers.list[2 * i + 1] as string)
  })
  return trailerFields(kept, of)
}

/** Returns trailers as they are forwarded: without the ones that Connection names. */
export function trailerFields(trailers: FieldSet | undefined, of: FieldSet): Fields | undefined {
  if (trailers === undefined) return undefined
  const nominated = of.nominated()
  const { list } = trailers
  if (nominated === undefined) return list
  return list.filter((_, i) => !isNominated(nominated, list[i - (i % 2)] as string))
}

function isNominated(nominated: readonly string[], name: string): boolean {
  return nominated.includes(name.toLowerCase())
}

function hasName(fields: Fields, name: string): boolean {
  for (let i = 0; i < fields.length; i += 2) {
    const each = fields[i] as string
    if (each.length === name.length && each.toLowerCase() === name.toLowerCase()) return true
  }
  return false
}

let dateText = ''
let dateSecond = 0

/** Returns the current time in the format of HTTP. */
export function httpDate(): string {
  const second = Math.floor(Date.now() / 1_000)
  if (second !== dateSecond) {
    dateSecond = second
    dateText = new Date().toUTCString()
  }
  return dateText
}
