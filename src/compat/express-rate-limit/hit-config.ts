import { isIPv6 } from 'node:net'
import type { Request } from 'express'
import { checkOption } from '../../core/check-options.ts'
import { SluiceError } from '../../core/errors.ts'
import { CounterStore } from '../../stores/hits/counter-store.ts'
import type { HitStore, Hits } from '../../stores/hits/hit-store.ts'
import { MemoryStore } from '../../stores/hits/memory-store.ts'
import { refuseNativeOptions } from '../native-options.ts'
import { ipKeyGenerator } from './ip-key-generator.ts'
import { HIT_FORMS, HIT_NAMES } from './option-forms.ts'
import type {
  DraftHeadersVersion,
  HitOptions,
  LegacyStore,
  Options,
  Store,
  ValueDeterminingMiddleware,
} from './options.ts'
import { type Logger, Validations } from './validations.ts'

/** Options with every default filled in. */
export interface HitConfig {
  readonly options: Options
  readonly store: HitStore
  readonly validations: Validations
  readonly hasOwnMessage: boolean
  readonly hasOwnHandler: boolean
}

const CONSOLE: Logger = {
  error: (error, message) => console.error(...(message === undefined ? [error] : [message, error])),
  warn: (error, message) => console.warn(...(message === undefined ? [error] : [message, error])),
}

/** Fills in the defaults of express-rate-limit, and looks for mistakes. */
export function hitConfig(passed: HitOptions): HitConfig {
  const given = Object.fromEntries(Object.entries(passed).filter(([, value]) => value !== undefined)) as HitOptions
  const { logger = CONSOLE, store = storeOf(given) } = given
  if (typeof logger.error !== 'function' || typeof logger.warn !== 'function') {
    throw new SluiceError('GATE_OPTIONS_INVALID', 'logger', 'it has no error and warn')
  }
  const validations = new Validations(given.validate ?? true, logger)
  checkOptions(given, validations)
  const hitStore = isLegacy(store) ? promised(store) : store
  const options: Options = {
    windowMs: 60_000,
    limit: given.max ?? 5,
    message: 'Too many requests, please try again later.',
    statusCode: 429,
    identifier: policyName(() => options),
    requestPropertyName: 'rateLimit',
    skipFailedRequests: false,
    skipSuccessfulRequests: false,
    keyGenerator: addressKey(() => options, validations),
    ipv6Subnet: 56,
    handler: () => undefined,
    skip: () => false,
    requestWasSuccessful: (_, response) => response.statusCode < 400,
    passOnStoreError: false,
    ...given,
    ...headersOf(given),
    store: hitStore as Store,
    validate: validations.enabled,
    logger,
  }
  if (store instanceof MemoryStore) validations.check('windowMs', options.windowMs)
  return {
    options,
    store: hitStore as HitStore,
    validations,
    hasOwnMessage: given.message !== undefined,
    hasOwnHandler: given.handler !== undefined,
  }
}

function checkOptions(given: HitOptions, validations: Validations): void {
  const { draft_polli_ratelimit_headers, onLimitReached } = given as Record<string, unknown>
  refuseNativeOptions(given, HIT_FORMS, 'sluice/express')
  const unknown = Object.keys(given).find((name) => !HIT_NAMES.includes(name))
  validations.check('knownOptions', unknown, HIT_NAMES)
  for (const [name, value] of Object.entries(given)) {
    if (Object.hasOwn(HIT_FORMS, name)) checkOption(value, HIT_FORMS[name as keyof HitOptions], name)
  }
  validations.check('draftPolliHeaders', draft_polli_ratelimit_headers)
  validations.check('onLimitReached', onLimitReached)
  if (given.ipv6Subnet !== undefined && typeof given.ipv6Subnet !== 'function') {
    validations.check('ipv6Subnet', given.ipv6Subnet)
  }
  validations.check('keyGeneratorIpFallback', given.keyGenerator)
  validations.check('ipv6SubnetOrKeyGenerator', given)
}

/**
 * Returns which fields are sent: as express-rate-limit does where any option sets them, and otherwise the current and
 * the legacy ones.
 */
function headersOf(given: HitOptions): Pick<Options, 'standardHeaders' | 'legacyHeaders'> {
  const { standardHeaders, legacyHeaders, headers } = given
  const isSilent = standardHeaders === undefined && legacyHeaders === undefined && headers === undefined
  const standard = isSilent ? 'current' : standardHeaders === true ? 'draft-6' : (standardHeaders ?? false)
  // Handlers and stores that were written for express-rate-limit see these options, and know of drafts only.
  return { standardHeaders: standard as DraftHeadersVersion | false, legacyHeaders: legacyHeaders ?? headers ?? true }
}

function storeOf({ redis, secret }: HitOptions): Store {
  if (redis === undefined) return new MemoryStore()
  return new CounterStore({ redis, ...(secret !== undefined && { secret }) })
}

function isLegacy(store: Store | LegacyStore): store is LegacyStore {
  const { incr, increment } = store as { readonly incr?: unknown; readonly increment?: unknown }
  return typeof incr === 'function' && typeof increment !== 'function'
}

/** Makes a store with callbacks one with promises. */
function promised(store: LegacyStore): HitStore {
  return {
    increment: (key) =>
      new Promise<Hits>((resolve, reject) => {
        store.incr(key, (error, totalHits, resetTime) => {
          if (error) reject(error)
          else resolve({ totalHits, resetTime })
        })
      }),
    decrement: (key) => store.decrement(key),
    resetKey: (key) => store.resetKey(key),
    resetAll: () => store.resetAll?.(),
  }
}

/** Makes the keyGenerator by address. The first request reports what is wrong with addresses. */
function addressKey(options: () => Options, validations: Validations): Options['keyGenerator'] {
  let isChecked = false
  const check = (request: Request): void => {
    isChecked = true
    validations.check('ip', request.ip)
    validations.check('trustProxy', request)
    validations.check('xForwardedForHeader', request)
    validations.check('forwardedHeader', request)
  }
  return (request, response) => {
    if (!isChecked) check(request)
    const ip = String(request.ip)
    const { ipv6Subnet } = options()
    if (typeof ipv6Subnet !== 'function') return ipKeyGenerator(ip, ipv6Subnet)
    if (!isIPv6(ip)) return ipKeyGenerator(ip)
    const keyOf = (bits: number): string => {
      validations.check('ipv6Subnet', bits)
      return ipKeyGenerator(ip, bits)
    }
    const bits = ipv6Subnet(request, response)
    return bits instanceof Promise ? bits.then(keyOf) : keyOf(bits)
  }
}

const UNITS = [
  [86_400_000, 'day', 's'],
  [3_600_000, 'hr', 's'],
  [60_000, 'min', ''],
] as const

/** Names a policy as express-rate-limit does: `5-in-1min`, `100-in-2hrs`. It remembers the last one. */
function policyName(options: () => Options): ValueDeterminingMiddleware<string> {
  let known = { limit: Number.NaN, name: '' }
  return (request) => {
    const { windowMs, requestPropertyName } = options()
    const { limit } = (request as unknown as Record<string, { limit: number }>)[requestPropertyName]
    if (known.limit === limit) return known.name
    const [ms, unit, plural] = UNITS.find(([size]) => windowMs >= size) ?? [1_000, 'sec', '']
    const count = windowMs / ms
    known = { limit, name: `${limit}-in-${count}${unit}${count > 1 ? plural : ''}` }
    return known.name
  }
}
