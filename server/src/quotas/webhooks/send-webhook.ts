import { lookup as resolve } from 'node:dns'
import { type ClientRequest, request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { SluiceError } from 'sluice/internal/core/errors'
import { isPublicAddress } from './public-address.ts'

/** How a delivery went. `status` is undefined when no answer came. */
export interface WebhookOutcome {
  readonly isDelivered: boolean
  readonly status: number | undefined
  /** For people: why it failed. It never holds what was sent, nor what came back. */
  readonly error: string | undefined
  /** The receiver said that it is gone for good. */
  readonly isGone: boolean
}

export interface SendOptions {
  /** All of it: connect, send, and wait for the answer. */
  readonly timeoutMs: number
  /** Lets webhooks go to private addresses and over plain HTTP. Only where every admin may reach those anyway. */
  readonly allowPrivate: boolean
}

const MAX_URL_CHARACTERS = 2_048
const GONE = 410

/** Throws unless a webhook may be sent to an address. Names are checked when they are resolved. */
export function checkWebhookUrl(text: string, { allowPrivate }: Pick<SendOptions, 'allowPrivate'>): URL {
  const refuse = (why: string) => new SluiceError('WEBHOOK_URL_INVALID', 'url', why)
  if (text.length > MAX_URL_CHARACTERS || !URL.canParse(text)) throw refuse('not a URL')
  const url = new URL(text)
  if (url.protocol !== 'https:' && !(allowPrivate && url.protocol === 'http:')) throw refuse(`got ${url.protocol}//`)
  if (url.username !== '' || url.password !== '') throw refuse('it holds a user or a password')
  const host = hostOf(url)
  if (!allowPrivate && isIP(host) !== 0 && !isPublicAddress(host)) throw refuse(`${host} is not a public address`)
  return url
}

/**
 * Posts a body once. It follows no redirect: an endpoint that answers with one has not accepted the message. The
 * address that the name resolves to is checked as it is connected to, so that a name cannot change in between.
 */
export function sendWebhook(
  to: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  options: SendOptions,
): Promise<WebhookOutcome> {
  return new Promise((done) => {
    let url: URL
    try {
      url = checkWebhookUrl(to, options)
    } catch (error) {
      done(failed((error as Error).message))
      return
    }
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest
    const length = { 'content-length': String(Buffer.byteLength(body)), 'user-agent': 'sluice-webhooks' }
    const request: ClientRequest = send(url, {
      method: 'POST',
      headers: { ...headers, ...length },
      agent: false,
      ...(!options.allowPrivate && { lookup: publicLookup }),
    })
    const timeout = setTimeout(
      () => request.destroy(new Error(`no answer in ${options.timeoutMs} ms`)),
      options.timeoutMs,
    )
    request.on('response', (response) => {
      clearTimeout(timeout)
      done(outcomeOf(response.statusCode ?? 0))
      // What a receiver sends in addition to its status is of no use, and may have no end.
      response.on('error', () => {})
      response.destroy()
    })
    request.on('error', (error) => {
      clearTimeout(timeout)
      done(failed(error.message))
    })
    request.end(body)
  })
}

/** Resolves a name, and fails when any of its addresses is not public. */
const publicLookup: LookupFunction = (hostname, options, done) => {
  resolve(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return done(error, '', 0)
    const hidden = addresses.find(({ address }) => !isPublicAddress(address))
    if (hidden !== undefined || addresses.length === 0) {
      return done(new Error(`${hostname} does not lead to public addresses only`), '', 0)
    }
    if (options.all) (done as (error: null, all: typeof addresses) => void)(null, addresses)
    else done(null, addresses[0].address, addresses[0].family)
  })
}

function hostOf({ hostname }: URL): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
}

function outcomeOf(status: number): WebhookOutcome {
  const isDelivered = status >= 200 && status < 300
  return { isDelivered, status, error: isDelivered ? undefined : `answered ${status}`, isGone: status === GONE }
}

function failed(error: string): WebhookOutcome {
  return { isDelivered: false, status: undefined, error, isGone: false }
}
