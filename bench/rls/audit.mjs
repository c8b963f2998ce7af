import { RedisEndpoint } from '../../tests/servers/redis.mjs'
import { chargedIn, limitOf } from '../redis-audit.mjs'
import { fallbacksOf } from './server-process.mjs'
import { FAR } from './traffic.mjs'

/**
 * How far a share of refusals may lie below and above what is due, beside what a window at the end makes. Traffic that comes
 * in bursts, on a busy machine, has moments without a call that fits: more is refused then.
 */
const BELOW = 0.02
const ABOVE = 0.1

export const endpointOf = (url) => new RedisEndpoint({ port: Number(new URL(url).port) })

/** voidsBefore says, while the service still runs, why its figures are none: it decided something without its store. */
export async function voidsBefore(server, load) {
  const fallbacks = server.admin === undefined ? [] : await fallbacksOf(server)
  const failed = load.failures > 0 ? [`${load.failures} calls failed or were refused`] : []
  return [...fallbacks, ...failed]
}

/** voidsAfter says, once the service has ended and given its slices back, whether Redis counted what was admitted. */
export async function voidsAfter(url, admitted) {
  const counted = await chargedIn(endpointOf(url), [limitOf(FAR)])
  return counted === admitted ? [] : [`${admitted} were admitted, but Redis counted ${counted}`]
}

/** Where a limit is to be reached: `ok` of all calls were admitted within `ms`. It returns the share refused, and the share due. */
export function refusalsOf({ ok, over, ms }, { callers, limit }) {
  const calls = ok + over
  const aWindow = (callers * limit) / calls
  const due = Math.max(0, 1 - (aWindow * ms) / 1000)
  const refused = over / calls
  const isDue = refused >= due - BELOW - aWindow && refused <= due + ABOVE + aWindow
  const percent = (share) => `${(100 * share).toFixed(1)} %`
  return { refused, due, voids: isDue ? [] : [`${percent(refused)} were refused, where ${percent(due)} were due`] }
}
