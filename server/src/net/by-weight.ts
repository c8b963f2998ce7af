/** A connection, the network it comes from, and what is held for it. */
export interface Weighed {
  readonly network: string
  readonly heldBytes: number
}

/**
 * Sorts connections by the network that holds the most, and within a network by weight, the heaviest first. Ending
 * connections by their weight alone would spare a client that opens thousands of them.
 */
export function byWeight<T extends Weighed>(connections: Iterable<T>): T[] {
  const weights = new Map<string, number>()
  const all: { readonly connection: T; readonly network: string; readonly bytes: number }[] = []
  for (const connection of connections) {
    const { network, heldBytes: bytes } = connection
    if (bytes === 0) continue
    weights.set(network, (weights.get(network) ?? 0) + bytes)
    all.push({ connection, network, bytes })
  }
  const weightOf = (network: string): number => weights.get(network) ?? 0
  all.sort((a, b) => weightOf(b.network) - weightOf(a.network) || b.bytes - a.bytes)
  return all.map(({ connection }) => connection)
}
