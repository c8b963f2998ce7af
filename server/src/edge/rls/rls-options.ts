import type { Entry } from 'sluice/internal/core/request'

/** The headers with the limit, what remains of it, and the seconds until there is more. */
export interface HeaderNames {
  readonly limit: string
  readonly remaining: string
  readonly reset: string
}

/** What an operator chooses about the answers of the rate limit service. */
export interface RlsOptions {
  /** Every request passes: the overall code is OK, whatever the rules say (SHADOW_MODE). Default: false. */
  readonly shadowMode?: boolean
  /** Have Envoy add these to its response (LIMIT_RESPONSE_HEADERS_ENABLED). Default: none. */
  readonly responseHeaders?: HeaderNames | undefined
  /** Have Envoy add these to the request that it forwards (--request-headers). Default: none. */
  readonly requestHeaders?: HeaderNames | undefined
  /** Pass to Envoy's other filters what was asked, and the metadata of the rules that admit it. Default: false. */
  readonly dynamicMetadata?: boolean
  /** How the value of an entry may be shown, there: that of a secret key as a keyed hash. Default: as it is. */
  readonly shownValue?: (domain: string, entry: Entry) => string
  /**
   * Report a window of 90 s as 90 × SECOND, which Envoy supports from 1.40 on; an older version would report one
   * second. Otherwise such a window has the unit UNKNOWN, and Envoy reports none. Default: false.
   */
  readonly unitMultipliers?: boolean
  /** Answer as envoyproxy/ratelimit does where we would say more, or something else. Default: false. */
  readonly asReference?: boolean
  /** The time of day, for what is aligned to the clock there. Default: that of the process. */
  readonly nowMs?: () => number
}
