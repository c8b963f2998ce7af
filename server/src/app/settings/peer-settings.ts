import { got, SluiceError } from 'sluice/internal/core/errors'
import { type Discovery, discoveryOf, peerAddress } from '../../peers/discover.ts'
import type { SettingSources } from './setting-sources.ts'
import { lastOf } from './setting-values.ts'

/** Nodes that keep counters together, without Redis. */
export interface PeersConfig {
  /** Lists the addresses of all nodes. */
  readonly discover: Discovery
  /** Where others reach this node. Undefined: the one in the list that answers as this node. */
  readonly address: string | undefined
  /** What all nodes share, and no one else has. */
  readonly secret: string
}

/** Reads what --peers says. Nodes without a common secret would take counters from anyone. */
export function peersOf(from: SettingSources): PeersConfig | undefined {
  const given = from.given('peers')
  const address = from.given('peer-address')
  if (given === undefined) {
    if (address !== undefined) throw new SluiceError('PEERS_INVALID', address.where, '--peers is missing')
    return undefined
  }
  const secret = from.value('secret')
  if (secret === undefined || secret === '') throw new SluiceError('PEERS_NEED_SECRET', given.where, 'no secret is set')
  for (const other of ['redis', 'grpc-tls', 'grpc-socket'] as const) {
    const clash = from.given(other)
    if (clash !== undefined && from.value(other))
      throw new SluiceError('PEERS_INVALID', given.where, `${clash.where} is also set: ${got(lastOf(clash))}`)
  }
  return {
    discover: discoveryOf(lastOf(given), given.where),
    address: address && peerAddress(lastOf(address), address.where),
    secret,
  }
}
