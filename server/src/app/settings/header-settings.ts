import type { SettingSources } from './setting-sources.ts'

/** LimitHeaders are the names of fields that tell about a limit. */
export interface LimitHeaders {
  readonly limit: string
  readonly remaining: string
  readonly reset: string
}

/** responseHeadersOf reads the names even where they are switched off: a wrong one is told today, not when it is needed. */
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
