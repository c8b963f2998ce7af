import { RedisEndpoint } from '../../tests/servers/redis.mjs'
import { chargedIn, limitOf } from '../redis-audit.mjs'
import { fallbacksOf } from './server-process.mjs'
import { FAR } from './traffic.mjs'

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
