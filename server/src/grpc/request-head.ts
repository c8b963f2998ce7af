import { parseGrpcTimeout } from './grpc-timeout.ts'
import { entryBytes } from './hpack/dynamic-table.ts'
import type { RequestHead, Route } from './route.ts'

export type { RequestHead } from './route.ts'

/** Replaces the fields of a call that were not read while its handler ran. */
export const GONE_FIELDS: readonly string[] = []

/** Returns what remains of the head of a call whose fields are gone. */
export function bareHead(route: Omit<Route, 'bareHead'>): RequestHead {
  return {
    malformed: undefined,
    method: 'POST',
    path: route.path,
    httpStatus: 0,
    timeoutMs: Number.POSITIVE_INFINITY,
    encoding: '',
    contentLength: -1,
    fields: GONE_FIELDS,
    bytes: 0,
    route: undefined,
  }
}

// Characters of a field name (RFC 9110, 5.6.2), less the capitals (RFC 9113, 8.2.1).
const IS_NAME = new Uint8Array(256)
for (const char of "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz") IS_NAME[char.charCodeAt(0)] = 1

const SPACE = 0x20
const TAB = 0x09

function isName(name: string): boolean {
  for (let i = 0; i < name.length; i++) if (IS_NAME[name.charCodeAt(i)] !== 1) return false
  return name.length > 0
}

/** Returns whether a value holds no NUL, CR or LF and neither begins nor ends with white space (RFC 9113, 8.2.1). */
function isValue(value: string): boolean {
  const last = value.length - 1
  if (last < 0) return true
  for (let i = 0; i <= last; i++) {
    const code = value.charCodeAt(i)
    if (code <= 0x0d && (code === 0 || code === 0x0a || code === 0x0d)) return false
  }
  return !isBlank(value.charCodeAt(0)) && !isBlank(value.charCodeAt(last))
}

const isBlank = (code: number): boolean => code === SPACE || code === TAB

/** Accepts application/grpc alone, with a suffix (+proto) or with parameters. */
function isGrpcContentType(value: string): boolean {
  if (!value.startsWith('application/grpc')) return false
  const next = value.charCodeAt(16)
  return Number.isNaN(next) || next === 0x2b || next === 0x3b
}

/** Returns a content-length, or −2 for what is not a number. */
function readLength(value: string): number {
  if (value.length === 0 || value.length > 15) return -2
  let length = 0
  for (let i = 0; i < value.length; i++) {
    const digit = value.charCodeAt(i) - 48
    if (digit < 0 || digit > 9) return -2
    length = length * 10 + digit
  }
  return length
}

/**
 * Turns the fields of a header block, in their order, into a RequestHead: `begin`, `onField` for each, then `request`
 * or `trailers`. It never throws; the first rule that is broken is kept, and the rest of the block ignored.
 */
export class HeadReader {
  #malformed: string | undefined
  #method: string | undefined
  #scheme: string | undefined
  #path: string | undefined
  #authority: string | undefined
  #host: string | undefined
  #contentType: string | undefined
  #timeoutMs = Number.POSITIVE_INFINITY
  #encoding = ''
  #contentLength = -1
  #pseudoFields = 0
  #bytes = 0
  #fields: string[] = []

  begin(): void {
    this.#malformed = undefined
    this.#method = undefined
    this.#scheme = undefined
    this.#path = undefined
    this.#authority = undefined
    this.#host = undefined
    this.#contentType = undefined
    this.#timeoutMs = Number.POSITIVE_INFINITY
    this.#encoding = ''
    this.#contentLength = -1
    this.#pseudoFields = 0
    this.#bytes = 0
    this.#fields = []
  }

  readonly onField = (name: string, value: string): void => {
    if (this.#malformed !== undefined) return
    this.#bytes += entryBytes(name, value)
    if (!isValue(value)) this.#malformed = `the value of ${name} has characters that no value may have (8.2.1)`
    else if (name.charCodeAt(0) === 0x3a) this.#onPseudoField(name, value)
    else if (!isName(name)) this.#malformed = 'a field name has characters that no name may have (8.2.1)'
    else {
      this.#onRegularField(name, value)
      this.#fields.push(name, value)
    }
  }

  /** Returns the head of a request whose fields were handed in. */
  request(): RequestHead {
    const malformed = this.#malformed ?? this.#brokenRule()
    return {
      malformed,
      method: this.#method ?? '',
      path: this.#path ?? '',
      httpStatus: this.#method !== 'POST' ? 405 : isGrpcContentType(this.#contentType ?? '') ? 0 : 415,
      timeoutMs: this.#timeoutMs,
      encoding: this.#encoding,
      contentLength: this.#contentLength,
      fields: this.#fields,
      bytes: this.#bytes,
      route: undefined,
    }
  }

  /** Returns the rule that the fields break as trailers, if any. */
  trailers(): string | undefined {
    return this.#malformed ?? (this.#pseudoFields > 0 ? 'trailers hold a pseudo-header field (8.1)' : undefined)
  }

  #onPseudoField(name: string, value: string): void {
    this.#pseudoFields++
    if (this.#fields.length > 0) this.#malformed = `${name} comes after a regular field (8.3)`
    else if (name === ':method') this.#method = this.#once(name, this.#method, value)
    else if (name === ':scheme') this.#scheme = this.#once(name, this.#scheme, value)
    else if (name === ':path') this.#path = this.#once(name, this.#path, value)
    else if (name === ':authority') this.#authority = this.#once(name, this.#authority, value)
    else this.#malformed = 'a request has a pseudo-header field that is not one of requests (8.3)'
  }

  #once(name: string, before: string | undefined, value: string): string {
    if (before !== undefined) this.#malformed = `${name} is there twice (8.3)`
    return value
  }

  #onRegularField(name: string, value: string): void {
    switch (name) {
      case 'content-type':
        this.#contentType = value
        break
      case 'grpc-timeout':
        this.#timeoutMs = parseGrpcTimeout(value)
        break
      case 'grpc-encoding':
        this.#encoding = value
        break
      case 'te':
        if (value !== 'trailers') this.#malformed = 'te may say "trailers" only (8.2.2)'
        break
      case 'content-length':
        this.#onContentLength(value)
        break
      case 'host':
        this.#host = value
        break
      case 'connection':
      case 'proxy-connection':
      case 'keep-alive':
      case 'transfer-encoding':
      case 'upgrade':
        this.#malformed = `${name} is specific to a connection (8.2.2)`
        break
    }
  }

  #onContentLength(value: string): void {
    const length = readLength(value)
    const differs = this.#contentLength >= 0 && this.#contentLength !== length
    if (length < 0 || differs) this.#malformed = 'content-length is not one number (RFC 9110, 8.6)'
    this.#contentLength = length
  }

  #brokenRule(): string | undefined {
    const method = this.#method
    if (method === undefined || method.length === 0) return 'a request has no :method (8.3.1)'
    if (method === 'CONNECT') {
      if (this.#scheme !== undefined || this.#path !== undefined) return 'CONNECT has no :scheme and no :path (8.5)'
      return this.#authority === undefined ? 'CONNECT must have an :authority (8.5)' : undefined
    }
    if (this.#scheme === undefined || this.#scheme.length === 0) return 'a request has no :scheme (8.3.1)'
    const path = this.#path
    if (path === undefined) return 'a request has no :path (8.3.1)'
    if (path.charCodeAt(0) !== 0x2f && !(path === '*' && method === 'OPTIONS'))
      return ':path must begin with "/" (8.3.1)'
    return this.#hasOtherHost() ? 'host differs from :authority (8.3.1)' : undefined
  }

  #hasOtherHost(): boolean {
    if (this.#host === undefined || this.#authority === undefined) return false
    return this.#host !== this.#authority && this.#host.toLowerCase() !== this.#authority.toLowerCase()
  }
}
