import { isIP } from 'node:net'
import type { Request } from 'express'
import { didYouMean } from '../../core/nearest.ts'
import { ignoresProxy, trustsEveryone } from '../../middleware/express/check-addresses.ts'
import type { HitStore } from '../../stores/hits/hit-store.ts'

/** Receives mistakes. */
export interface Logger {
  error(error: unknown, message?: string): void
  warn(error: unknown, message?: string): void
}

/**
 * A problem with the setup that the developer should know about. Codes match express-rate-limit, whose documentation
 * explains them.
 */
class Mistake extends Error {
  readonly code: string
  readonly help: string

  constructor(code: string, message: string) {
    const help = `https://express-rate-limit.github.io/${code}/`
    super(`${message} See ${help}`)
    this.name = 'ValidationError'
    this.code = code
    this.help = help
  }
}

/** A setting that means something else than it used to. */
class Change extends Mistake {}

const MAX_WINDOW_MS = 10 * 366 * 86_400_000
const DRAFTS = ['draft-6', 'draft-7', 'draft-8', 'current']
const usedStores = new WeakSet<object>()
const countedKeys = new WeakMap<object, Map<unknown, Set<string>>>()

/** Checks that throw a Mistake. Each runs at most once per middleware, so nothing is reported repeatedly. */
const CHECKS = {
  ip(ip: string | undefined): void {
    if (ip === undefined) {
      throw new Mistake('ERR_ERL_UNDEFINED_IP_ADDRESS', 'request.ip is undefined: the connection may be gone already.')
    }
    if (isIP(ip) === 0) {
      throw new Mistake('ERR_ERL_INVALID_IP_ADDRESS', `request.ip is ${JSON.stringify(ip)}, which is no address.`)
    }
  },
  trustProxy(request: Request): void {
    const mistake = trustsEveryone(request)
    if (mistake !== undefined) throw new Mistake('ERR_ERL_PERMISSIVE_TRUST_PROXY', mistake)
  },
  xForwardedForHeader(request: Request): void {
    const mistake = ignoresProxy(request)
    if (mistake !== undefined) throw new Mistake('ERR_ERL_UNEXPECTED_X_FORWARDED_FOR', mistake)
  },
  forwardedHeader({ headers, ip, socket }: Request): void {
    if (!headers.forwarded || ip !== socket?.remoteAddress) return
    throw new Mistake(
      'ERR_ERL_FORWARDED_HEADER',
      'there is a Forwarded field, which Express does not read: all clients of a proxy are counted as one.',
    )
  },
  positiveHits(hits: unknown): void {
    if (typeof hits === 'number' && hits >= 1 && Number.isInteger(hits)) return
    throw new Mistake('ERR_ERL_INVALID_HITS', `a store counts hits from 1 on; this one said ${String(hits)}.`)
  },
  unsharedStore(store: HitStore): void {
    if (usedStores.has(store)) {
      const how = store.localKeys ? 'its own' : 'a separate one, with a separate prefix'
      throw new Mistake('ERR_ERL_STORE_REUSE', `two middlewares use one ${store.constructor.name}: give each ${how}.`)
    }
    usedStores.add(store)
  },
  singleCount(request: Request, store: HitStore, key: string): void {
    const byStore = countedKeys.get(request) ?? new Map<unknown, Set<string>>()
    countedKeys.set(request, byStore)
    const owner = store.localKeys ? store : store.constructor.name
    const keys = byStore.get(owner) ?? new Set<string>()
    byStore.set(owner, keys)
    const full = `${store.prefix ?? ''}${key}`
    if (keys.has(full)) throw new Mistake('ERR_ERL_DOUBLE_COUNT', `one request was counted twice for ${key}.`)
    keys.add(full)
  },
  limit(limit: number): void {
    if (limit === 0) throw new Change('WRN_ERL_MAX_ZERO', 'a limit of 0 refuses every request.')
  },
  draftPolliHeaders(value: unknown): void {
    if (!value) return
    throw new Change(
      'WRN_ERL_DEPRECATED_DRAFT_POLLI_HEADERS',
      "draft_polli_ratelimit_headers is gone: use standardHeaders: 'draft-6'.",
    )
  },
  onLimitReached(value: unknown): void {
    if (value) throw new Change('WRN_ERL_DEPRECATED_ON_LIMIT_REACHED', 'onLimitReached is gone: use handler.')
  },
  headersDraftVersion(version: unknown): void {
    if (typeof version === 'string' && DRAFTS.includes(version)) return
    throw new Mistake(
      'ERR_ERL_HEADERS_UNSUPPORTED_DRAFT_VERSION',
      `standardHeaders is true, false or one of ${DRAFTS.join(', ')}.`,
    )
  },
  headersResetTime(resetTime: Date | undefined): void {
    if (resetTime !== undefined) return
    throw new Mistake('ERR_ERL_HEADERS_NO_RESET', 'the store does not say when a window ends: windowMs is used.')
  },
  knownOptions(unknown: string | undefined, known: readonly string[]): void {
    if (unknown === undefined) return
    const detail = `there is no option ${unknown}${didYouMean(unknown, known) || '.'}`
    throw new Mistake('ERR_ERL_UNKNOWN_OPTION', detail)
  },
  validationsConfig(enabled: Readonly<Record<string, boolean>>): void {
    const unknown = Object.keys(enabled).find((name) => name !== 'default' && !Object.hasOwn(CHECKS, name))
    if (unknown === undefined) return
    const names = Object.keys(CHECKS).join(', ')
    throw new Mistake('ERR_ERL_UNKNOWN_VALIDATION', `there is no validation ${unknown}, only ${names}, default.`)
  },
  creationStack(): void {
    const { stack = '' } = new Error('where the middleware was created')
    if (!stack.includes('Layer.handle [as handle_request]') && !stack.includes('Layer.handleRequest')) return
    throw new Mistake(
      'ERR_ERL_CREATED_IN_REQUEST_HANDLER',
      'make the middleware once, when the app starts: made for each request, it counts nothing.',
    )
  },
  ipv6Subnet(bits: unknown): void {
    if (bits === false || (typeof bits === 'number' && Number.isInteger(bits) && bits >= 32 && bits <= 64)) return
    throw new Mistake('ERR_ERL_IPV6_SUBNET', `ipv6Subnet is ${String(bits)}; it should be from 32 to 64, or false.`)
  },
  ipv6SubnetOrKeyGenerator({
    ipv6Subnet,
    keyGenerator,
  }: {
    readonly ipv6Subnet?: unknown
    readonly keyGenerator?: unknown
  }): void {
    if (ipv6Subnet === undefined || keyGenerator === undefined) return
    throw new Mistake('ERR_ERL_IPV6SUBNET_OR_KEYGENERATOR', 'ipv6Subnet has no effect together with a keyGenerator.')
  },
  keyGeneratorIpFallback(keyGenerator: unknown): void {
    if (keyGenerator === undefined) return
    const source = String(keyGenerator)
    const usesIp = source.includes('req.ip') || source.includes('request.ip')
    if (!usesIp || source.includes('ipKeyGenerator')) return
    throw new Mistake(
      'ERR_ERL_KEY_GEN_IPV6',
      'keyGenerator uses request.ip without ipKeyGenerator: a client with a block of IPv6 addresses has no limit.',
    )
  },
  windowMs(windowMs: number): void {
    if (typeof windowMs === 'number' && windowMs >= 1 && windowMs <= MAX_WINDOW_MS) return
    throw new Mistake('ERR_ERL_WINDOW_MS', `windowMs is ${windowMs}; it should be from 1 to ten years.`)
  },
}

type Checks = typeof CHECKS
/** Switches single checks on or off; `default` applies to checks that are not named. */
export type EnabledValidations = { readonly [name in keyof Checks | 'default']?: boolean }

/** The enabled checks of one middleware, each run once. */
export class Validations {
  readonly enabled: Record<string, boolean>
  readonly #logger: Logger

  constructor(enabled: boolean | EnabledValidations, logger: Logger) {
    this.enabled = typeof enabled === 'boolean' ? { default: enabled } : { default: true, ...enabled }
    this.#logger = logger
    this.check('validationsConfig', { ...this.enabled })
  }

  /** Logs what is wrong. Never throws. */
  check<K extends keyof Checks>(name: K, ...about: Parameters<Checks[K]>): void {
    if (!(this.enabled[name] ?? this.enabled.default)) return
    this.enabled[name] = false
    try {
      ;(CHECKS[name] as (...about: unknown[]) => void)(...about)
    } catch (error) {
      if (error instanceof Change) this.#logger.warn(error)
      else this.#logger.error(error)
    }
  }
}
