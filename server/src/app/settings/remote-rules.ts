import { SluiceError } from 'sluice/internal/core/errors'
import { isLoopback, shownUrl } from '../../sources/url/rules-url.ts'
import type { SettingSources } from './setting-sources.ts'
import { type Given, lastOf, pathsOf } from './setting-values.ts'
import { type XdsConfig, xdsOf } from './xds-settings.ts'

/** Where rules come from in addition to files, and how they are fetched. It is plain data. */
export interface RemoteRulesConfig {
  readonly urls: readonly RulesUrl[]
  readonly pollMs: number
  readonly timeoutMs: number
  readonly token: string | undefined
  readonly tokenFile: string | undefined
  readonly tls: RulesTls
  readonly startsEmpty: boolean
  /** Undefined: there is no control plane. */
  readonly xds: XdsConfig | undefined
}

/** An address of rules, and what people call it, without credentials. */
export interface RulesUrl {
  readonly url: string
  readonly name: string
}

/** Names files. */
export interface RulesTls {
  readonly caFile: string | undefined
  readonly certFile: string | undefined
  readonly keyFile: string | undefined
}

const MIN_POLL_MS = 1_000
const MIN_TIMEOUT_MS = 100

/** Returns whether a place of rules is a file or a directory. */
export function isPath(place: string): boolean {
  return !/^https?:\/\//i.test(place)
}

/** Reads the settings of remote rules. */
export function remoteRulesOf(
  from: SettingSources,
  rules: Given | undefined,
  env: NodeJS.ProcessEnv,
): RemoteRulesConfig {
  const { token, tokenFile } = tokenOf(from)
  const places = rules === undefined ? [] : pathsOf(rules).filter((place) => !isPath(place))
  return {
    urls: named(places.map((place) => urlOf(place, rules as Given, token !== undefined || tokenFile !== undefined))),
    pollMs: Math.max(MIN_POLL_MS, from.value('rules-poll')),
    timeoutMs: Math.max(MIN_TIMEOUT_MS, from.value('rules-timeout')),
    token,
    tokenFile,
    tls: rulesTlsOf(from),
    startsEmpty: from.value('start-without-rules'),
    xds: xdsOf(from, env),
  }
}

export function hasRemoteRules({ urls, xds }: RemoteRulesConfig): boolean {
  return urls.length > 0 || xds !== undefined
}

/** Lists all places that rules come from, in the form shown to people. */
export function rulePlaces(config: {
  readonly rules: readonly string[]
  readonly remoteRules: RemoteRulesConfig
}): readonly string[] {
  const { urls, xds } = config.remoteRules
  return [...config.rules, ...urls.map(({ name }) => name), ...(xds === undefined ? [] : [xds.name])]
}

/** Reads an address. Its shown form, also in errors, has neither user nor query. */
function urlOf(place: string, { where }: Given, hasToken: boolean): URL {
  const url = tryUrl(place)
  if (url === undefined) throw new SluiceError('RULES_URL_INVALID', where, 'not an address')
  const isSecret = hasToken || url.username !== '' || url.password !== ''
  if (isSecret && url.protocol === 'http:' && !isLoopback(url.hostname)) {
    throw new SluiceError(
      'RULES_URL_INVALID',
      where,
      `a token or password would be sent unencrypted to ${shownUrl(url)}`,
    )
  }
  return url
}

function tryUrl(place: string): URL | undefined {
  try {
    const url = new URL(place)
    url.hash = ''
    return url
  } catch {
    return undefined
  }
}

/** Gives each address a unique name: addresses that differ only in hidden parts are numbered. */
function named(urls: readonly URL[]): readonly RulesUrl[] {
  const shown = urls.map(shownUrl)
  return urls.map(({ href }, i) => {
    const before = shown.slice(0, i).filter((name) => name === shown[i]).length
    return { url: href, name: before === 0 ? shown[i] : `${shown[i]} (${before + 1})` }
  })
}

/** A token is one word of visible characters: a header can have nothing else. */
const TOKEN = /^[\x21-\x7e]{1,8192}$/

function tokenOf(from: SettingSources): { readonly token: string | undefined; readonly tokenFile: string | undefined } {
  const given = from.given('rules-token')
  if (given !== undefined && !isRulesToken(lastOf(given))) {
    throw new SluiceError(
      'RULES_URL_INVALID',
      given.where,
      'the token has a space or another character that a header cannot carry',
    )
  }
  return { token: from.value('rules-token'), tokenFile: from.value('rules-token-file') }
}

export function isRulesToken(text: string): boolean {
  return TOKEN.test(text)
}

function rulesTlsOf(from: SettingSources): RulesTls {
  const [cert, key] = [from.given('rules-cert'), from.given('rules-key')]
  if (cert !== undefined && key === undefined)
    throw new SluiceError('TLS_INCOMPLETE', cert.where, '--rules-key is missing')
  if (key !== undefined && cert === undefined)
    throw new SluiceError('TLS_INCOMPLETE', key.where, '--rules-cert is missing')
  return { caFile: from.value('rules-ca'), certFile: from.value('rules-cert'), keyFile: from.value('rules-key') }
}

/** Warns of rules that could be changed in transit. */
export function remoteRulesWarnings({ urls }: RemoteRulesConfig): string[] {
  const open = urls.filter(({ url }) => url.startsWith('http:') && !isLoopback(new URL(url).hostname))
  return open.map(({ name }) => `rules come from ${name} without TLS: anybody on the way can change them`)
}

/** Lists what must not appear in a log: tokens, passwords, signatures in addresses. */
export function secretsOfRemoteRules({ urls, token, xds }: RemoteRulesConfig): string[] {
  const inUrls = urls.flatMap(({ url }) => {
    const { password, search, searchParams } = new URL(url)
    return [password, decoded(password), search, ...[...searchParams.values()].filter((value) => value.length >= 16)]
  })
  // Headers may be anything; what is short is hardly a secret, and would be hidden everywhere.
  const headers = Object.values(xds?.headers ?? {}).filter((value) => value.length >= 8)
  return [...inUrls, token ?? '', ...headers].filter((text) => text !== '')
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
