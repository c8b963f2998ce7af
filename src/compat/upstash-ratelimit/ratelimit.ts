import { checkOption } from '../../core/check-options.ts'
import type { Verdict } from '../../core/decision.ts'
import { got, SluiceError } from '../../core/errors.ts'
import type { Rule } from '../../core/rules/rule-set.ts'
import type { MaybePromise } from '../../engine/ports.ts'
import { hitRule } from '../../stores/hits/hit-rule.ts'
import { openAppStore } from '../../stores/open/open-app-store.ts'
import type { OpenStore } from '../../stores/open/open-store.ts'
import { checkOtherOptions } from '../native-options.ts'
import { cachedFixedWindow, checkAlgorithm, fixedWindow, slidingWindow, tokenBucket } from './algorithms.ts'
import { CONFIG_FORMS, LIMIT_FORMS } from './option-forms.ts'
import type { LimitOptions, RatelimitConfig, RatelimitResponse, Remaining } from './options.ts'

const DEFAULT_PREFIX = '@upstash/ratelimit'
/** Of timers: a longer one would fire at once. */
const MAX_WAIT_MS = 2 ** 31 - 1
/** Options whose absence would be missed: what they switch on is not here. */
const MISSING = ['enableProtection', 'denyListThreshold', 'dynamicLimits'] as const

/**
 * Limits with the constructor and the methods of @upstash/ratelimit, in memory or in Redis over a socket.
 *
 *   const ratelimit = new Ratelimit({ redis: 'rediss://…', limiter: Ratelimit.slidingWindow(10, '10 s') })
 *   const { success } = await ratelimit.limit(userId)
 */
export class Ratelimit {
  static readonly fixedWindow = fixedWindow
  static readonly slidingWindow = slidingWindow
  static readonly tokenBucket = tokenBucket
  static readonly cachedFixedWindow = cachedFixedWindow

  readonly #open: OpenStore
  readonly #rule: Rule
  readonly #prefix: string
  readonly #nowMs: () => number

  constructor(config: RatelimitConfig) {
    refuseMissing(config)
    checkOtherOptions(config, CONFIG_FORMS, 'sluice')
    checkAlgorithm(config.limiter)
    const { limiter, prefix = DEFAULT_PREFIX, timeout: timeoutMs, onStoreFailure = 'local', clock, log } = config
    const { redis, secret, maxKeys, analytics = false } = config
    this.#rule = hitRule(limiter.limit, {
      onStoreFailure,
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(limiter.isLeased && { consistency: 'leased' }),
    })
    this.#prefix = prefix
    this.#nowMs = clock === undefined ? Date.now : () => clock.nowMs()
    this.#open = openAppStore({
      redis,
      secret,
      clock: clock ?? { nowMs: Date.now },
      ...(maxKeys !== undefined && { maxKeys }),
      ...(log && { log }),
    })
    if (analytics) (log ?? warn)('analytics has no effect in sluice/compat/upstash-ratelimit: see sluice/prometheus')
  }

  /** Decides about one request, and charges it when it may pass. */
  readonly limit = async (identifier: string, options: LimitOptions = {}): Promise<RatelimitResponse> =>
    this.#responseOf(await this.#charge(identifier, rateOf(options)))

  /** Waits until a request may pass, at most `timeout` milliseconds. It waits exactly as long as it must. */
  readonly blockUntilReady = async (identifier: string, timeout: number): Promise<RatelimitResponse> => {
    if (!(timeout > 0)) throw new SluiceError('GATE_OPTIONS_INVALID', 'timeout', `${got(timeout)}, expected above 0`)
    const deadlineMs = performance.now() + timeout
    for (;;) {
      const verdict = await this.#charge(identifier, 1)
      const leftMs = deadlineMs - performance.now()
      if (verdict.kind !== 'refused' || leftMs <= 0) return this.#responseOf(verdict)
      const waitMs = Math.min(Math.max(1, verdict.retryAfterMs), Math.ceil(leftMs), MAX_WAIT_MS)
      await new Promise((resolve) => setTimeout(resolve, waitMs))
    }
  }

  /** Looks without charging. */
  readonly getRemaining = async (identifier: string): Promise<Remaining> => {
    const { limit, remaining, reset } = this.#responseOf(await this.#charge(identifier, 0))
    return { remaining, reset, limit }
  }

  /** Gives a caller the whole budget again. */
  readonly resetUsedTokens = async (identifier: string): Promise<void> => {
    await this.#open.store.reset(this.#encode(identifier), this.#rule.limit)
  }

  /** Closes the connection, which keeps no process alive. */
  async close(): Promise<void> {
    await this.#open.close()
  }

  async #charge(identifier: string, cost: number): Promise<Verdict> {
    const key = this.#encode(identifier)
    const { limit } = this.#rule
    const verdicts: MaybePromise<readonly Verdict[]> = this.#open.store.decide([
      { key, limit, cost, enforce: true, policy: this.#rule },
    ])
    return (await verdicts)[0]
  }

  #encode(identifier: string): string {
    if (typeof identifier !== 'string' || identifier === '') {
      throw new SluiceError('KEY_INVALID', 'identifier', got(identifier))
    }
    return this.#open.keys.encode(this.#prefix, this.#rule, [{ key: 'key', value: identifier }])
  }

  #responseOf(verdict: Verdict): RatelimitResponse {
    const { allowed, remaining, fallback } = verdict
    return {
      success: allowed,
      limit: this.#rule.limit.capacity,
      remaining,
      reset: this.#resetOf(verdict),
      pending: Promise.resolve(),
      ...((fallback === 'open' || fallback === 'closed') && { reason: 'timeout' }),
    }
  }

  #resetOf(verdict: Verdict): number {
    const { windowMs, algorithm } = this.#rule.limit
    const nowMs = this.#nowMs()
    if (algorithm === 'token_bucket' && verdict.kind === 'refused') return nowMs + verdict.retryAfterMs
    const hasEnd = verdict.resetAfterMs > 0 || algorithm === 'token_bucket'
    return nowMs + (hasEnd ? verdict.resetAfterMs : windowMs - (nowMs % windowMs))
  }
}

/** Deny lists and limits that change in Redis: to accept them and do nothing would leave callers in who are to stay out. */
function refuseMissing(config: object): void {
  const name = MISSING.find((each) => Object.hasOwn(config ?? {}, each) && (config as never)[each] !== false)
  if (name !== undefined)
    throw new SluiceError('OPTION_UNKNOWN', name, 'not supported by sluice/compat/upstash-ratelimit')
}

function rateOf({ rate = 1 }: LimitOptions): number {
  checkOption(rate, LIMIT_FORMS.rate, 'rate')
  return rate
}

function warn(line: string): void {
  process.emitWarning(line, 'SluiceWarning')
}
