import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Readable } from 'node:stream'
import type { SecureContext } from 'node:tls'
import { createGunzip } from 'node:zlib'
import { SourceFault } from '../remote-source.ts'
import { isLoopback, shownUrl } from './rules-url.ts'

/** As much as a rule file may have. */
export const MAX_BYTES = 8 * 1024 * 1024
const MAX_REDIRECTS = 3
/** A server that is busy may ask for so much patience. */
const MAX_RETRY_AFTER_MS = 3_600_000
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** Asks an address for rules. */
export interface RulesRequest {
  readonly url: URL
  /** The known version: unchanged rules are not sent again. */
  readonly known?: Validators | undefined
  readonly token?: string | undefined
  readonly secureContext?: SecureContext | undefined
  /** For all of it, redirects included. */
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
}

/** Validators name a version of what is at an address. */
export interface Validators {
  readonly etag: string | undefined
  readonly lastModified: string | undefined
}

/** What is at an address; undefined: what was known already. */
export type RulesAnswer = (Validators & { readonly text: string }) | undefined

/** Fetches an address once. Throws a SourceFault; otherwise the result is complete. */
export async function fetchRules(request: RulesRequest): Promise<RulesAnswer> {
  const deadline = AbortSignal.timeout(request.timeoutMs)
  const signal = request.signal === undefined ? deadline : AbortSignal.any([deadline, request.signal])
  try {
    return await follow(request, signal)
  } catch (error) {
    if (error instanceof SourceFault) throw error
    throw new SourceFault(deadline.aborted ? `no complete answer within ${request.timeoutMs} ms` : reasonOf(error))
  }
}

async function follow(request: RulesRequest, signal: AbortSignal): Promise<RulesAnswer> {
  let { url } = request
  for (let redirects = 0; ; redirects++) {
    const response = await ask(url, request, signal)
    try {
      const status = response.statusCode ?? 0
      if (!REDIRECTS.has(status)) return await read(response, request)
      if (redirects === MAX_REDIRECTS) throw new SourceFault(`more than ${MAX_REDIRECTS} redirects`)
      url = targetOf(response, url)
    } finally {
      response.destroy()
    }
  }
}

/** Returns where a redirect leads: never out of TLS, where the answer could be forged on the way. */
function targetOf({ headers: { location = '' } }: IncomingMessage, from: URL): URL {
  const to = tryUrl(location, from)
  if (to === undefined || (to.protocol !== 'http:' && to.protocol !== 'https:')) {
    throw new SourceFault('a redirect to an invalid address')
  }
  if (from.protocol === 'https:' && to.protocol === 'http:') {
    throw new SourceFault(`a redirect from https to ${shownUrl(to)}`)
  }
  return to
}

function tryUrl(text: string, base: URL): URL | undefined {
  try {
    return new URL(text, base)
  } catch {
    return undefined
  }
}

function ask(url: URL, request: RulesRequest, signal: AbortSignal): Promise<IncomingMessage> {
  const { secureContext } = request
  const options = { method: 'GET', headers: fieldsOf(url, request), agent: false as const, signal }
  return new Promise((resolve, reject) => {
    const asked =
      url.protocol === 'https:'
        ? httpsRequest(withoutUser(url), { ...options, ...(secureContext && { secureContext }) }, resolve)
        : httpRequest(withoutUser(url), options, resolve)
    asked.on('error', reject)
    asked.end()
  })
}

/** Returns the fields of a request. Who we are is shown to the address that was named, not to where it leads. */
function fieldsOf(url: URL, { url: first, known, token }: RulesRequest): OutgoingHttpHeaders {
  const mayKnow = url.origin === first.origin && (url.protocol === 'https:' || isLoopback(url.hostname))
  return {
    accept: 'application/yaml, text/yaml, text/plain;q=0.9, */*;q=0.1',
    'accept-encoding': 'gzip',
    'user-agent': 'sluice',
    connection: 'close',
    ...(known?.etag !== undefined && { 'if-none-match': known.etag }),
    ...(known?.etag === undefined && known?.lastModified !== undefined && { 'if-modified-since': known.lastModified }),
    ...(mayKnow && first.username !== '' && { authorization: basicOf(first) }),
    ...(mayKnow && token !== undefined && { authorization: `Bearer ${token}` }),
  }
}

function basicOf({ username, password }: URL): string {
  return `Basic ${Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64')}`
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function withoutUser(url: URL): URL {
  const plain = new URL(url)
  plain.username = ''
  plain.password = ''
  return plain
}

async function read(response: IncomingMessage, { known }: RulesRequest): Promise<RulesAnswer> {
  const { statusCode, headers } = response
  if (statusCode === 304 && (known?.etag !== undefined || known?.lastModified !== undefined)) return undefined
  if (statusCode !== 200) throw new SourceFault(`answered ${statusCode}`, retryAfterOf(headers['retry-after']))
  const encoding = headers['content-encoding'] ?? 'identity'
  if (encoding !== 'gzip' && encoding !== 'identity') throw new SourceFault('an encoding that was not requested')
  // A body that ends with the connection may be incomplete, and half a rule file may be a valid one.
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined && encoding !== 'gzip') {
    throw new SourceFault('an answer without a length')
  }
  const bytes = await bounded(encoding === 'gzip' ? unzipped(response) : response, response)
  return { text: textOf(bytes), etag: headers.etag, lastModified: headers['last-modified'] }
}

function unzipped(response: IncomingMessage): Readable {
  const gunzip = createGunzip()
  response.on('error', (error) => gunzip.destroy(error))
  return response.pipe(gunzip)
}

/** Reads a body, as far as a rule file goes. */
async function bounded(body: Readable, response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > MAX_BYTES) throw new SourceFault(`an answer of more than ${MAX_BYTES} bytes`)
    chunks.push(chunk)
  }
  if (!response.complete) throw new SourceFault('the answer was cut off')
  return Buffer.concat(chunks)
}

function textOf(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new SourceFault('an answer that is not UTF-8')
  }
}

/** Reads seconds. A date would need a clock that agrees. */
function retryAfterOf(value: string | undefined): number {
  return /^\d{1,6}$/.test(value ?? '') ? Math.min(Number(value) * 1_000, MAX_RETRY_AFTER_MS) : 0
}

/** Returns what happened by its code: messages may repeat what was sent. */
function reasonOf(error: unknown): string {
  const { code, name } = error as NodeJS.ErrnoException
  return code ?? name
}
