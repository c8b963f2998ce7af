import type { SettingSources } from './setting-sources.ts'

/** The names of the fields that describe a limit. */
export interface LimitHeaders {
  readonly limit: string
  readonly remaining: string
  readonly reset: string
}

/**
 * Reads the names even where they are switched off, so that an invalid one is reported now and not when it is needed.
 */
export function responseHeadersOf(from: SettingSources): LimitHeaders | undefined {
  const limit = from.value('limit-header')
  const remaining = from.value('remaining-header')
  const reset = from.value('reset-header')
  return from.value('response-headers') ? { limit, remaining, reset } : undefined
}

export function requestHeadersOf(from: SettingSources): LimitHeaders | undefined {
  const limit = from.value('request-limit-header')
  const remaining = from.value('request-remaining-header')
  const reset = from.value('request-reset-header')
  return from.value('request-headers') ? { limit, remaining, reset } : undefined
}
