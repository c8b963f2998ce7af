/** FunctionUse remembers which servers cannot run functions, or may not: there, scripts do the same. */
export class FunctionUse {
  readonly #without = new Set<string>()

  /** maybe says whether it is worth to try a function on a server. */
  maybe(shard: string): boolean {
    return !this.#without.has(shard)
  }

  /** giveUp says that a server has no functions. */
  giveUp(shard: string): void {
    this.#without.add(shard)
  }

  /** connected says that a server may be another one now, or a newer one. */
  connected(shard: string): void {
    this.#without.delete(shard)
  }
}
