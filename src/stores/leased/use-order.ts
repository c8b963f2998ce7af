/** Stands in a UseOrder, between the one used before it and the one used after. */
export interface Ordered {
  older: this | undefined
  newer: this | undefined
}

/** Knows which of its members was used longest ago. Everything takes the same time, however many there are. */
export class UseOrder<T extends Ordered> {
  #oldest: T | undefined
  #newest: T | undefined

  get oldest(): T | undefined {
    return this.#oldest
  }

  /** Makes one the newest, whether it is a member yet or not. */
  use(one: T): void {
    if (one === this.#newest) return
    this.remove(one)
    one.older = this.#newest
    if (this.#newest === undefined) this.#oldest = one
    else this.#newest.newer = one
    this.#newest = one
  }

  /** Takes one out, if it is a member. */
  remove(one: T): void {
    const { older, newer } = one
    if (one === this.#oldest) this.#oldest = newer
    if (one === this.#newest) this.#newest = older
    if (older !== undefined) older.newer = newer
    if (newer !== undefined) newer.older = older
    one.older = undefined
    one.newer = undefined
  }
}
