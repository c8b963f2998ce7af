import { got, SluiceError } from 'sluice/internal/core/errors'
import { DEFAULT_TIMES, type Route, type RouteTimes } from '../options.ts'

/** What a route says, with every default. */
export interface RouteSettings {
  readonly times: RouteTimes
  readonly maxBodyBytes: number
  readonly peekBytes: number
  readonly retries: number
  readonly caseSensitive: boolean
  readonly keepsEncodedSlashes: boolean
  readonly forwardsAsSent: boolean
}

const MAX_PEEK_BYTES = 65_536
const MAX_RETRIES = 5

export function routeSettings(route: Route, where: string): RouteSettings {
  const { times = {}, maxBodyBytes = 10_485_760, peekBytes = 0, retries = 1, caseSensitive = false } = route
  for (const [name, value] of Object.entries(times)) requireWhole(value, `${where}.times.${name}`, 2 ** 31 - 1)
  return Object.freeze({
    times: Object.freeze({ ...DEFAULT_TIMES, ...times }),
    maxBodyBytes: requireWhole(maxBodyBytes, `${where}.maxBodyBytes`, Number.MAX_SAFE_INTEGER),
    peekBytes: requireWhole(peekBytes, `${where}.peekBytes`, MAX_PEEK_BYTES),
    retries: requireWhole(retries, `${where}.retries`, MAX_RETRIES),
    caseSensitive,
    keepsEncodedSlashes: route.encodedSlashes === 'keep',
    forwardsAsSent: route.forwardPath === 'as_sent',
  })
}

/** Returns a whole number from 0 to `most`, and throws at anything else. */
export function requireWhole(value: number, where: string, most: number): number {
  if (Number.isInteger(value) && value >= 0 && value <= most) return value
  throw new SluiceError('GATEWAY_OPTIONS_INVALID', where, `${got(value)}, expected a whole number from 0 to ${most}`)
}
