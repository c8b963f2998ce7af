import { got, SluiceError } from '../core/errors.ts'
import { type ApiKeyOptions, readApiKey, readBearer } from '../core/identity/api-key.ts'
import { type IpKeyOptions, ipKey } from '../core/identity/ip-key.ts'
import { ProxyTrust, type ProxyTrustOptions } from '../core/identity/proxy-trust.ts'
import { andThen } from '../engine/maybe.ts'
import type { MaybePromise } from '../engine/ports.ts'
import type { Claims, TokenVerifier } from '../identity/claims.ts'
import { type JwtOptions, jwtVerifier } from '../identity/jwt-verifier.ts'
import type { RequestReader } from './request-reader.ts'

/** A Caller is who is calling, as far as a request says so and it was verified. */
export interface Caller {
  /** The block that the address is in: `203.0.113.7`, `2001:db8::/64`. */
  readonly ip: string | undefined
  readonly apiKey: string | undefined
  readonly user: string | undefined
  readonly tenant: string | undefined
  readonly tier: string | undefined
}

/** Tell finds something out about a request. */
export type Tell<R, T> = (request: R) => MaybePromise<T>

export interface IdentityOptions<R> extends IpKeyOptions, Partial<ProxyTrustOptions> {
  /** API keys. Default: none. What a client sends is taken for a key as it is: check it first, or add a generous limit by IP. */
  readonly apiKey?: ApiKeyOptions | boolean
  /** Tokens. They are verified, always; one that is not good is as if there were none. */
  readonly jwt?: JwtOptions | TokenVerifier
  /** Which claim is the user, the tenant, the tier. Default: `sub` is the user. */
  readonly claims?: { readonly user?: string; readonly tenant?: string; readonly tier?: string }
  /** Who it is by the app's own account, for instance its session. It comes before the token's word. */
  readonly user?: Tell<R, string | undefined>
  readonly tenant?: Tell<R, string | undefined>
  readonly tier?: Tell<R, string | undefined>
}

/** CallerFinder finds out who is calling, at once where nothing needs a promise. */
export class CallerFinder<R> {
  readonly #reader: RequestReader<R>
  readonly #options: IdentityOptions<R>
  readonly #apiKey: ApiKeyOptions | undefined
  readonly #trust: ProxyTrust | undefined
  readonly #verifier: TokenVerifier | undefined
  readonly #isPlain: boolean

  constructor(options: IdentityOptions<R>, reader: RequestReader<R>) {
    const { apiKey = false, jwt, trustedProxies, forwardedHeader, ipv6Prefix, ipv4Prefix } = options
    checkNames(options, IDENTITY_OPTIONS, 'identity')
    if (typeof apiKey === 'object') checkNames(apiKey, API_KEY_OPTIONS, 'identity.apiKey')
    checkPrefix(ipv6Prefix, 128, 'identity.ipv6Prefix')
    checkPrefix(ipv4Prefix, 32, 'identity.ipv4Prefix')
    this.#reader = reader
    this.#options = options
    this.#apiKey = apiKey === false ? undefined : apiKey === true ? {} : apiKey
    if (trustedProxies !== undefined) {
      this.#trust = new ProxyTrust({ trustedProxies, ...(forwardedHeader && { forwardedHeader }) })
    }
    this.#verifier = jwt && ('verify' in jwt ? jwt : jwtVerifier(jwt))
    this.#isPlain = !this.#verifier && !options.user && !options.tenant && !options.tier
  }

  find(request: R): MaybePromise<Caller> {
    const ip = this.#ip(request)
    const apiKey = this.#readKey(request)
    if (this.#isPlain) return { ip, apiKey, user: undefined, tenant: undefined, tier: undefined }
    return andThen(this.#claims(request), (claims) => this.#findNamed(request, ip, apiKey, claims))
  }

  #ip(request: R): string | undefined {
    const address =
      this.#trust === undefined
        ? this.#reader.address(request)
        : this.#trust.clientAddress(this.#reader.peer(request), this.#reader.header(request, this.#trust.header))
    return address === undefined ? undefined : ipKey(address, this.#options)
  }

  #readKey(request: R): string | undefined {
    if (this.#apiKey === undefined) return undefined
    // A bearer token is a token where those are verified, and a key where they are not.
    const options = this.#verifier === undefined ? this.#apiKey : { bearer: false, ...this.#apiKey }
    return readApiKey(options, (name) => this.#reader.header(request, name), this.#reader.url(request))
  }

  #claims(request: R): MaybePromise<Claims | undefined> {
    const token = this.#verifier && readBearer(this.#reader.header(request, 'authorization'))
    return token === undefined ? undefined : this.#verifier?.verify(token)
  }

  #findNamed(
    request: R,
    ip: string | undefined,
    apiKey: string | undefined,
    claims: Claims | undefined,
  ): MaybePromise<Caller> {
    const { claims: names = {} } = this.#options
    const told = (tell: Tell<R, string | undefined> | undefined, claim: string | undefined) =>
      andThen(tell?.(request), (value) => keyText(value) ?? textOf(claim === undefined ? undefined : claims?.[claim]))
    return andThen(told(this.#options.user, names.user ?? 'sub'), (user) =>
      andThen(told(this.#options.tenant, names.tenant), (tenant) =>
        andThen(told(this.#options.tier, names.tier), (tier) => ({ ip, apiKey, user, tenant, tier })),
      ),
    )
  }
}

const IDENTITY_OPTIONS: ReadonlySet<string> = new Set([
  'trustedProxies',
  'forwardedHeader',
  'ipv6Prefix',
  'ipv4Prefix',
  'apiKey',
  'jwt',
  'claims',
  'user',
  'tenant',
  'tier',
])
const API_KEY_OPTIONS: ReadonlySet<string> = new Set(['header', 'bearer', 'query'])

/** checkNames refuses options that there are not: a proxy that is not trusted for a typo is a limit for everybody. */
function checkNames(options: object, known: ReadonlySet<string>, where: string): void {
  for (const option of Object.keys(options)) {
    if (!known.has(option)) throw new SluiceError('OPTION_UNKNOWN', `${where}.${option}`, 'no such option')
  }
}

/**
 * keyText returns what a function of the app's said: text, or undefined for nothing. Apps without types say numbers, too;
 * anything else is a mistake, and would make one caller of many.
 */
export function keyText(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (value === undefined || value === null) return undefined
  if (typeof value === 'bigint' || (typeof value === 'number' && Number.isFinite(value))) return String(value)
  throw new SluiceError('KEY_INVALID', 'identity', got(value))
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string' && value !== '') return value
  return typeof value === 'number' && Number.isFinite(value) ? String(value) : undefined
}

function checkPrefix(bits: number | undefined, most: number, where: string): void {
  if (bits === undefined || (Number.isInteger(bits) && bits >= 1 && bits <= most)) return
  throw new SluiceError('SUBNET_INVALID', where, got(bits))
}
