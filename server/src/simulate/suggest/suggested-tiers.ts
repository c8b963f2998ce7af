import { got, SluiceError } from 'sluice/internal/core/errors'
import { counted, formatted } from '../report/text.ts'
import type { CallerGroup } from './caller-peaks.ts'
import { type ChoiceOptions, type ChosenLimit, chooseLimit } from './choose-limit.ts'
import type { SuggestedLimit, SuggestedTier } from './suggestion-yaml.ts'

export interface TierOptions extends ChoiceOptions {
  readonly mostEndpoints: number
}

/** An endpoint with fewer of the requests of its tier gets no limit. */
const LEAST_SHARE = 0.01
/** An endpoint whose busiest minute is nearly that of all requests is bounded by their limit. */
const NEARLY_ALL = 0.8
const MOST_PATTERN = 200
const MOST_TIERS = 50
const MOST_TIER_NAME = 64

/** Chooses limits for each tier: one for all requests of a caller, and one for each endpoint that needs its own. */
export function suggestTiers(
  groups: readonly CallerGroup[],
  options: TierOptions,
  caller: string,
): readonly SuggestedTier[] {
  const alls = groups.filter(({ name }) => name.endpoint === '')
  const wrong = alls.find(({ name }) => name.tier !== '' && (name.tier.length > MOST_TIER_NAME || !isPlain(name.tier)))
  if (wrong !== undefined) throw new SluiceError('TIERS_INVALID', '--entry tier', got(wrong.name.tier))
  if (alls.length > MOST_TIERS) throw new SluiceError('TIERS_INVALID', '--entry tier', `${alls.length} different tiers`)
  const named = (called: string) => ({ called, percentile: options.percentile })
  const tiers = alls.map((all): SuggestedTier => {
    const chosen = chooseLimit(all.callers, options)
    const own = groups.filter(({ name }) => name.tier === all.name.tier && name.endpoint !== '')
    const endpoints = own
      // The path of an endpoint that one caller alone asks for may say whose it is.
      .filter(({ callers }) => callers.length > 1)
      .filter(({ requests, name }) => requests >= LEAST_SHARE * all.requests && isPlain(name.endpoint))
      .map((group) => suggested(group, chooseLimit(group.callers, options), named(group.name.endpoint)))
      .filter(({ limit }) => limit.minute < NEARLY_ALL * chosen.minute)
      .slice(0, options.mostEndpoints)
    return { tier: all.name.tier, all: suggested(all, chosen, named(`per-${caller}`)), endpoints }
  })
  return tiers.sort((a, b) => (a.tier < b.tier ? -1 : 1))
}

function suggested(
  { name, requests, callers }: CallerGroup,
  limit: ChosenLimit,
  { called, percentile }: { readonly called: string; readonly percentile: number },
): SuggestedLimit {
  const { minute, hour, algorithm } = limit
  const peaks = `${percentile} % of them had at most ${formatted(minute)} in their busiest minute, ${formatted(hour)} in their busiest hour.`
  const reasons = [`${counted(requests, 'request')} of ${counted(callers.length, 'caller')}; ${peaks}`]
  if (algorithm === 'token_bucket') reasons.push('They come in bursts: a bucket that refills with their average.')
  else if (limit.unit === 'hour') reasons.push('They are few: counted by the hour.')
  return { name: called, endpoint: name.endpoint, limit, reasons }
}

/** Whether a pattern can stand in a rule file as it is. Callers write paths as they like. */
function isPlain(endpoint: string): boolean {
  return endpoint.length <= MOST_PATTERN && /^[\x20-\x7e]+$/.test(endpoint)
}
