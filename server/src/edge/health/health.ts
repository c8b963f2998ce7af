/** What the node says of all of its processes. */
export interface NodeHealth {
  /** Why it takes no requests yet; '': it does. */
  readonly unready: string
  /** What is missing though it takes requests; '': nothing. */
  readonly degraded: string
}

/** Health says whether this process wants new requests. The process turns it off before it drains, and tells watchers. */
export class Health {
  #isServing = true
  #reason = ''
  /** What is missing though it serves; '': nothing. */
  degraded = ''
  readonly #watchers = new Set<(isServing: boolean) => void>()
  readonly #leavers = new Set<() => void>()

  get isServing(): boolean {
    return this.#isServing
  }

  /** Why it does not serve; '' while it does. */
  get unready(): string {
    return this.#isServing ? '' : this.#reason
  }

  /** set changes the state and tells everybody who watches. `reason` is why it does not serve. */
  set(isServing: boolean, reason = 'draining'): void {
    this.#reason = reason
    if (isServing === this.#isServing) return
    this.#isServing = isServing
    for (const tell of this.#watchers) tell(isServing)
  }

  /** leave ends what would otherwise go on for as long as somebody watches. */
  leave(): void {
    this.set(false)
    for (const end of this.#leavers) end()
  }

  /** onLeave has something ended when the process leaves. It returns what takes that back. */
  onLeave(end: () => void): () => void {
    this.#leavers.add(end)
    return () => this.#leavers.delete(end)
  }

  /** watch tells of every change from now on. It returns what ends that. */
  watch(tell: (isServing: boolean) => void): () => void {
    this.#watchers.add(tell)
    return () => this.#watchers.delete(tell)
  }
}
