/** Remembers which servers cannot run a function, or may not: there, scripts do the same. */
export class FunctionUse {
  /** The names of functions, by server. */
  readonly #without = new Map<string, Set<string>>()

  /** Returns whether it is worth to try a function on a server. */
  maybe(shard: string, name: string): boolean {
    return this.#without.get(shard)?.has(name) !== true
  }

  /** Says that a server does not have a function. */
  giveUp(shard: string, name: string): void {
    const names = this.#without.get(shard)
    if (names === undefined) this.#without.set(shard, new Set([name]))
    else names.add(name)
  }

  /** Says that a server may be another one now, or a newer one. */
  connected(shard: string): void {
    this.#without.delete(shard)
  }
}
