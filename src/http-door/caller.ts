import { checkOptions } from '../core/check-options.ts'
import { addErrorRules, got, SluiceError } from '../core/errors.ts'
import { readApiKeys, readBearer } from '../core/identity/api-key.ts'
import { ipKey } from '../core/identity/ip-key.ts'
import { ProxyTrust } from '../core/identity/proxy-trust.ts'
import { DOOR_RULES } from '../core/library-error-rules.ts'
import { andThen } from '../engine/maybe.ts'
import type { MaybePromise } from '../engine/ports.ts'
import type { Claims, TokenVerifier } from '../identity/claims.ts'
import { verifierOf } from '../identity/jwt-code.ts'
import { guarded, type ReportError } from './guarded.ts'
import {
  type Caller,
  type CallerKeyOptions,
  type FromRequest,
  IDENTITY_FORMS,
  type IdentityOptions,
} from './identity-options.ts'
import type { Sender } from './priority-header.ts'
import type { RequestReader } from './request-reader.ts'

export type { Caller, CallerKeyOptions, FromRequest, IdentityOptions } from './identity-options.ts'

/**
 * Finds out who is calling, synchronously where nothing needs a promise. Reports errors of an app's functions; the
 * caller is then identified by the remaining parts, and finally by the address.
 */
export class CallerFinder<R> {
  readonly #reader: RequestReader<R>
  readonly #options: IdentityOptions<R>
  readonly #apiKey: CallerKeyOptions<R> | undefined
  readonly #report: ReportError
  readonly #trust: ProxyTrust | undefined
  readonly #verifier: TokenVerifier | undefined
  readonly #isPlain: boolean

  constructor(options: IdentityOptions<R>, reader: RequestReader<R>, report: ReportError = () => {}) {
    addErrorRules(DOOR_RULES)
    checkOptions(options, IDENTITY_FORMS, 'identity.')
    const { apiKey = false, jwt, trustedProxies, forwardedHeader } = options
    this.#reader = reader
    this.#options = options
    this.#report = report
    this.#apiKey = apiKey === false ? undefined : apiKey === true ? {} : apiKey
    if (trustedProxies !== undefined) {
      this.#trust = new ProxyTrust({ trustedProxies, ...(forwardedHeader && { forwardedHeader }) })
    }
    this.#verifier = jwt && ('verify' in jwt ? jwt : verifierOf(jwt))
    this.#isPlain = !this.#verifier && !options.user && !options.tenant && !options.tier
  }

  /** Whether keys are accepted without verification. */
  get believesKeys(): boolean {
    return this.#apiKey !== undefined && this.#apiKey.verify === undefined
  }

  find(request: R): MaybePromise<Caller> {
    const ip = this.#ip(request)
    const keys = this.#keys(request)
    if (this.#isPlain && !(keys instanceof Promise)) return callerOf(ip, keys, NOTHING)
    return andThen(keys, (good) => andThen(this.#named(request), (named) => callerOf(ip, good, named)))
  }

  /** Returns where a request comes from, by the proxies that are trusted here. */
  sender(request: R): Sender {
    try {
      const ip = this.#address(request)
      const peer = this.#reader.peer(request)
      const isFromProxy = peer !== undefined && this.#trust?.trusts(peer) === true
      return { ip, isFromProxy, isInside: ip !== undefined && this.#trust?.knows(ip) === true }
    } catch (error) {
      this.#report(error)
      return { ip: undefined, isFromProxy: false, isInside: false }
    }
  }

  #address(request: R): string | undefined {
    if (this.#trust === undefined) return this.#reader.address(request)
    return this.#trust.clientAddress(this.#reader.peer(request), this.#reader.header(request, this.#trust.header))
  }

  #ip(request: R): string | undefined {
    try {
      const address = this.#address(request)
      return address === undefined ? undefined : ipKey(address, this.#options)
    } catch (error) {
      // Callers without a known address share a budget.
      this.#report(error)
      return undefined
    }
  }

  #keys(request: R): MaybePromise<readonly string[]> {
    if (this.#apiKey === undefined) return NO_KEYS
    const { verify, ...places } = this.#apiKey
    // A bearer token is a token where those are verified, and a key where they are not.
    const options = this.#verifier === undefined ? places : { bearer: false, ...places }
    const keys = readApiKeys(options, (name) => this.#reader.header(request, name), this.#reader.url(request))
    if (verify === undefined || keys.length === 0) return keys
    const isGood = (key: string): MaybePromise<boolean> =>
      this.#guarded(() => andThen(verify(key, request), (is) => is === true)) as MaybePromise<boolean>
    const checked = keys.map(isGood)
    if (!checked.some((each) => each instanceof Promise)) return keys.filter((_, i) => checked[i] === true)
    return Promise.all(checked).then((each) => keys.filter((_, i) => each[i] === true))
  }

  #named(request: R): MaybePromise<Named> {
    if (this.#isPlain) return NOTHING
    const { claims: names = {}, user, tenant, tier } = this.#options
    return andThen(this.#claims(request), (claims) => {
      const claimOf = (find: FromRequest<R, string | undefined> | undefined, claim: string | undefined) =>
        andThen(find && this.#guarded(() => andThen(find(request), keyText)), (said) => {
          return said ?? textOf(claim === undefined ? undefined : claims?.[claim])
        })
      return andThen(claimOf(user, names.user ?? 'sub'), (userText) =>
        andThen(claimOf(tenant, names.tenant), (tenantText) =>
          andThen(claimOf(tier, names.tier), (tierText) => ({ user: userText, tenant: tenantText, tier: tierText })),
        ),
      )
    })
  }

  #claims(request: R): MaybePromise<Claims | undefined> {
    const token = this.#verifier && readBearer(this.#reader.header(request, 'authorization'))
    return token === undefined ? undefined : this.#guarded(() => this.#verifier?.verify(token))
  }

  /** Asks the app, and takes a failure for no answer. */
  #guarded<T>(ask: () => MaybePromise<T | undefined>): MaybePromise<T | undefined> {
    return guarded<T | undefined>(ask, (error) => void this.#report(error))
  }
}

type Named = Pick<Caller, 'user' | 'tenant' | 'tier'>

const NOTHING: Named = { user: undefined, tenant: undefined, tier: undefined }
const NO_KEYS: readonly string[] = []

function callerOf(ip: string | undefined, keys: readonly string[], { user, tenant, tier }: Named): Caller {
  const caller = { ip, apiKey: keys[0], user, tenant, tier }
  return keys.length > 1 ? { ...caller, moreApiKeys: keys.slice(1) } : caller
}

/**
 * Returns what a function of the app's said: text, or undefined for nothing. Apps without types say numbers, too;
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
