/**
 * Separates unnamed limits that have the same encoded options. In memory each has a separate store; on Redis they are
 * numbered in the order in which a process makes them, which is the same in every process that runs the same code.
 */
export class ClaimedNames {
  readonly #taken = new Map<string, Set<number>>()

  /** Returns the number of a limit, from 1 on, and what gives it back. */
  claim(name: string): { readonly number: number; release(): void } {
    const taken = this.#taken.get(name) ?? new Set()
    this.#taken.set(name, taken)
    let number = 1
    while (taken.has(number)) number++
    taken.add(number)
    return { number, release: () => void taken.delete(number) }
  }
}
