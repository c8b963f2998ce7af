import { isIPv6 } from 'node:net'
import type { FieldSet } from './fields.ts'

/** What both versions of HTTP say about a request before its body. */
export interface RequestHead {
  readonly method: string
  /** Path and query, beginning with `/`; or `*`. */
  readonly target: string
  /** Host, and a port if there is one, as the client wrote them. */
  readonly authority: string
  readonly fields: FieldSet
  readonly version: '1.0' | '1.1' | '2.0'
  /** 0: no body; −1: one of unknown length. */
  readonly bodyLength: number
  readonly wantsWebSocket: boolean
  readonly expectsContinue: boolean
}

const NAME = /^([A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.?)(?::([1-9]\d{0,4}))?$/
const IPV6 = /^\[([0-9A-Fa-f:.]{2,45})\](?::([1-9]\d{0,4}))?$/
const MAX_HOST = 255
const MAX_PORT = 65_535

/**
 * Returns whether a text is a host with or without a port, and nothing more: a name as DNS has them, or with `_`; or an
 * address. RFC 3986 allows more (`a,b`, `a%00`, `a:`), which programs read in different ways.
 */
export function isAuthority(text: string): boolean {
  const isAddress = text.charCodeAt(0) === 0x5b
  const found = (isAddress ? IPV6 : NAME).exec(text)
  if (found === null) return false
  const [, host = '', port] = found
  if (port !== undefined && Number(port) > MAX_PORT) return false
  return isAddress ? isIPv6(host) : host.length <= MAX_HOST
}

/** Returns an authority in lower case, without its port and without a dot at the end. */
export function hostOf(authority: string): string {
  const colon = authority.lastIndexOf(':')
  const isPort = colon > authority.lastIndexOf(']') && colon >= 0
  const host = (isPort ? authority.slice(0, colon) : authority).toLowerCase()
  return host.endsWith('.') ? host.slice(0, -1) : host
}

const TARGET = /^\/[\x21\x22\x24-\x5b\x5d-\x7e]*$/

/** Whether a text is a path with or without a query, which no parser reads as anything else. */
export function isTarget(text: string): boolean {
  return TARGET.test(text) && text.charCodeAt(1) !== 0x2f
}

const LENGTH = /^(?:0|[1-9]\d{0,14})$/

/** Returns a Content-Length, or −1 for a text that is none. */
export function readLength(text: string): number {
  return LENGTH.test(text) ? Number(text) : -1
}
