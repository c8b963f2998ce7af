/** What the node says of all of its processes. */
export interface NodeHealth {
  /** Why it takes no requests yet; '': it does. */
  readonly unready: string
  /** What is missing though it takes requests; '': nothing. */
  readonly degraded: string
}

/**
 * Reports whether this process accepts new requests. The process turns it off before it drains, and watchers are
 * notified.
 */
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

  /** Changes the state and notifies all watchers. `reason` is why it does not serve. */
  set(isServing: boolean, reason = 'draining'): void {
    this.#reason = reason
    if (isServing === this.#isServing) return
    this.#isServing = isServing
    for (const notify of this.#watchers) notify(isServing)
  }

  /** Ends what would otherwise last as long as a client watches. */
  leave(): void {
    this.set(false)
    for (const end of this.#leavers) end()
  }

  /** Has something ended when the process leaves. It returns what takes that back. */
  onLeave(end: () => void): () => void {
    this.#leavers.add(end)
    return () => this.#leavers.delete(end)
  }

  /** Calls a function on every change from now on. Returns what ends that. */
  watch(notify: (isServing: boolean) => void): () => void {
    this.#watchers.add(notify)
    return () => this.#watchers.delete(notify)
  }
}
