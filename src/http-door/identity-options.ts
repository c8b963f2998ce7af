import type { ApiKeyOptions } from '../core/identity/api-key.ts'
import type { IpKeyOptions } from '../core/identity/ip-key.ts'
import type { ProxyTrustOptions } from '../core/identity/proxy-trust.ts'
import {
  ANY,
  BOOLEAN,
  either,
  type Form,
  type FormsOf,
  FUNCTION,
  fields,
  has,
  listOf,
  oneOf,
  TEXT,
  whole,
} from '../core/option-forms.ts'
import type { MaybePromise } from '../engine/ports.ts'
import type { TokenVerifier } from '../identity/claims.ts'
import type { JwtOptions } from '../identity/jwt-verifier.ts'

/** Who is calling, as far as a request says so and it was verified. */
export interface Caller {
  /** The block that the address is in: `203.0.113.7`, `2001:db8::/64`. */
  readonly ip: string | undefined
  readonly apiKey: string | undefined
  /** What else of a request may be its API key: the app may go by any of them. */
  readonly moreApiKeys?: readonly string[]
  readonly user: string | undefined
  readonly tenant: string | undefined
  readonly tier: string | undefined
}

/** Derives something from a request. */
export type FromRequest<R, T> = (request: R) => MaybePromise<T>

export interface CallerKeyOptions<R> extends ApiKeyOptions {
  /** Whether a key is good; one that is not is as if there were none. Default: all are believed. */
  readonly verify?: (key: string, request: R) => MaybePromise<boolean>
}

/** Which claims of a token say what. */
export interface Claimed {
  readonly user?: string
  readonly tenant?: string
  readonly tier?: string
}

/** How the caller of a request is found: by address, API key or token. */
export interface IdentityOptions<R> extends IpKeyOptions, Partial<ProxyTrustOptions> {
  /**
   * API keys. Default: none. Without `verify`, what a client sends is taken for a key as it is: check it first, or add
   * a generous limit by IP. A request with several keys is charged to each of them.
   */
  readonly apiKey?: CallerKeyOptions<R> | boolean
  /** Tokens. They are verified, always; one that is not good is as if there were none. */
  readonly jwt?: JwtOptions | TokenVerifier
  /** Which claim is the user, the tenant, the tier. Default: `sub` is the user. */
  readonly claims?: Claimed
  /** Who it is by the app's own account, for instance its session. It comes before the token's word. */
  readonly user?: FromRequest<R, string | undefined>
  readonly tenant?: FromRequest<R, string | undefined>
  readonly tier?: FromRequest<R, string | undefined>
}

/** Returns what switches something off that is a text otherwise. */
const FALSE: Form = { expected: 'false', is: (value) => value === false }
const TEXTS = either(TEXT, listOf(TEXT))

const JWT_FORMS: FormsOf<JwtOptions> = {
  secret: ANY,
  publicKey: TEXT,
  jwks: ANY,
  jwksUrl: TEXT,
  algorithms: listOf(TEXT),
  issuer: TEXTS,
  audience: TEXTS,
  clockToleranceS: whole(0, Number.POSITIVE_INFINITY),
  mostRemembered: whole(0, Number.POSITIVE_INFINITY),
  fetch: FUNCTION,
  now: FUNCTION,
}

/** The form of an object that verifies tokens: it may have anything on it. */
const VERIFIER = has('verify')
const JWT: Form = {
  ...fields(JWT_FORMS),
  inside: (value) => (VERIFIER.is(value) ? undefined : JWT_FORMS),
}

const API_KEY_FORMS: FormsOf<CallerKeyOptions<never>> = {
  header: either(TEXT, FALSE),
  bearer: BOOLEAN,
  query: TEXT,
  verify: FUNCTION,
}

/** The forms of IdentityOptions: a proxy that is not trusted for a typo is one caller for all. */
export const IDENTITY_FORMS: FormsOf<IdentityOptions<never>> = {
  trustedProxies: ANY,
  forwardedHeader: { ...oneOf('x-forwarded-for', 'forwarded'), code: 'PROXY_TRUST_INVALID' },
  ipv6Prefix: whole(1, 128, 'SUBNET_INVALID'),
  ipv4Prefix: whole(1, 32, 'SUBNET_INVALID'),
  apiKey: either(BOOLEAN, fields(API_KEY_FORMS)),
  jwt: JWT,
  claims: fields({ user: TEXT, tenant: TEXT, tier: TEXT } satisfies FormsOf<Claimed>),
  user: FUNCTION,
  tenant: FUNCTION,
  tier: FUNCTION,
}
