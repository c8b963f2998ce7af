import type * as Throttler from '@nestjs/throttler'
import { checkOptions } from '../../core/check-options.ts'
import type { Decision } from '../../core/combine.ts'
import { allowedVerdict, refusedVerdict } from '../../core/decision.ts'
import { addErrorRules, SluiceError } from '../../core/errors.ts'
import { FieldRenderer } from '../../core/http/field-renderer.ts'
import { OPTIONAL_RULES } from '../../core/library-error-rules.ts'
import { loadUnbundled } from '../../core/load-unbundled.ts'
import {
  BOOLEAN,
  either,
  type Form,
  type FormsOf,
  FUNCTION,
  HITS,
  has,
  MS,
  TEXT,
  whole,
} from '../../core/option-forms.ts'
import type { Observer } from '../../engine/observer.ts'
import { HitDecisions } from '../../http-door/hit-decisions.ts'
import { type NestResponse, setFields } from '../../middleware/nest/http-exchange.ts'
import { throttlingOf } from '../../stores/hits/throttle-counter.ts'

/**
 * Replaces ThrottlerGuard: same options, same decorators, same methods to override. In addition to that guard's fields
 * it sends the current ones, `RateLimit` and `RateLimit-Policy`, of all throttlers that applied; a refusal has
 * `Retry-After`, whatever the name of its throttler; and a storage that fails lets requests pass, with a line in the
 * log, instead of failing them.
 */
export class SluiceThrottlerGuard extends baseGuard() {
  readonly #renderer = new FieldRenderer({ legacy: false })
  readonly #decisions = new HitDecisions({
    decided: (charges, decision, ms) => this.observer?.decided(charges, decision, ms),
  })
  /** Receives every decision. Default: none. */
  protected observer: Observer | undefined

  /** Reads the options, and says what is wrong with them. */
  override async onModuleInit(): Promise<void> {
    const { options } = this as unknown as { readonly options: Throttler.ThrottlerModuleOptions }
    const isList = Array.isArray(options)
    if (!isList) checkOptions(options, MODULE_FORMS)
    for (const [i, each] of (isList ? options : options.throttlers).entries()) {
      checkOptions(each, THROTTLER_FORMS, isList ? `[${i}].` : `throttlers[${i}].`)
    }
    await super.onModuleInit()
  }

  protected override async handleRequest(props: Throttler.ThrottlerRequest): Promise<boolean> {
    const { context, limit, ttl, throttler, blockDuration, getTracker, generateKey } = props
    const { req, res } = this.getRequestResponse(context)
    const { name = 'default' } = throttler
    const ignored = throttler.ignoreUserAgents ?? this.commonOptions.ignoreUserAgents ?? []
    if (ignored.some((pattern) => pattern.test(req.headers['user-agent']))) return true
    const tracker = await getTracker(req, context)
    const key = generateKey(context, tracker, name)
    const startedAt = this.#decisions.now()
    const record = await this.#count(key, ttl, limit, blockDuration, name)
    if (record === undefined) return true
    const decision = this.#decisionOf(name, limit, ttl, record, startedAt)
    if (throttler.setHeaders ?? this.commonOptions.setHeaders ?? true)
      this.#setHeaders(res, name, limit, decision, record)
    if (record.isBlocked) await this.throwThrottlingException(context, { limit, ttl, key, tracker, ...record })
    return true
  }

  async #count(...hit: Parameters<Throttler.ThrottlerStorage['increment']>): Promise<Record | undefined> {
    try {
      return await this.storageService.increment(...hit)
    } catch (error) {
      // Older versions of @nestjs/throttler 6 have no logger.
      const logger = this.logger ?? console
      logger.error(error, 'the storage failed; allowing the request without counting it')
      return undefined
    }
  }

  #setHeaders(res: Response, name: string, limit: number, decision: Decision, record: Record): void {
    const suffix = name === 'default' ? '' : `-${name}`
    // Responses other than HTTP have only the fields that the guard has always set.
    const isHttp = typeof res.getHeader === 'function'
    if (isHttp) {
      setFields(res as unknown as NestResponse, this.#renderer.render(decision, Date.now()), decision)
    }
    if (record.isBlocked) {
      if (!isHttp || suffix !== '') this.#setField(res, `Retry-After${suffix}`, record.timeToBlockExpire)
      return
    }
    this.#setField(res, `${this.headerPrefix}-Limit${suffix}`, limit)
    this.#setField(res, `${this.headerPrefix}-Remaining${suffix}`, Math.max(0, limit - record.totalHits))
    this.#setField(res, `${this.headerPrefix}-Reset${suffix}`, record.timeToExpire)
  }

  /** Sets a field as the guard does: older versions of @nestjs/throttler 6 have no method for that. */
  #setField(res: Response, name: string, value: string | number): void {
    if (typeof this.setResponseHeader === 'function') this.setResponseHeader(res, name, value)
    else (res as { header(name: string, value: string | number): void }).header(name, value)
  }

  #decisionOf(name: string, limit: number, ttl: number, record: Record, startedAt: number): Decision {
    const { totalHits, timeToExpire, isBlocked, timeToBlockExpire } = record
    const resetAfterMs = timeToExpire * 1000
    const verdict = isBlocked
      ? refusedVerdict(limit, 0, resetAfterMs, timeToBlockExpire * 1000)
      : allowedVerdict(limit, Math.max(0, limit - totalHits), resetAfterMs)
    const held = { name, limit, windowMs: throttlingOf(ttl, limit, 0).ttlMs }
    return this.#decisions.of('', held, verdict, startedAt)
  }
}

const NUMBER = either(HITS, FUNCTION)
const LIST: Form = { expected: 'a list', is: Array.isArray }

const SHARED_FORMS = {
  ignoreUserAgents: LIST,
  skipIf: FUNCTION,
  getTracker: FUNCTION,
  generateKey: FUNCTION,
  setHeaders: BOOLEAN,
}

export const THROTTLER_FORMS: FormsOf<Throttler.ThrottlerOptions> = {
  ...SHARED_FORMS,
  name: TEXT,
  limit: NUMBER,
  ttl: either(MS, FUNCTION),
  blockDuration: NUMBER,
}

export const MODULE_FORMS: FormsOf<Exclude<Throttler.ThrottlerModuleOptions, readonly unknown[]>> = {
  ...SHARED_FORMS,
  throttlers: LIST,
  errorMessage: either(TEXT, FUNCTION),
  storage: has('increment'),
  ipv6SubnetPrefix: whole(1, 128),
}

type Record = Awaited<ReturnType<Throttler.ThrottlerStorage['increment']>>
type Response = ReturnType<Throttler.ThrottlerGuard['getRequestResponse']>['res']

/** Returns that of @nestjs/throttler, where it is installed: everything else here works without it. */
function baseGuard(): typeof Throttler.ThrottlerGuard {
  try {
    return (loadUnbundled('@nestjs/throttler') as typeof Throttler).ThrottlerGuard
  } catch {
    return class {
      constructor() {
        addErrorRules(OPTIONAL_RULES)
        throw new SluiceError('THROTTLER_MISSING', 'SluiceThrottlerGuard', 'the package cannot be found')
      }
    } as unknown as typeof Throttler.ThrottlerGuard
  }
}
