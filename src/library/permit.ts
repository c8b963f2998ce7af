import type { Verdict } from '../core/decision.ts'

interface Decided {
  readonly allowed: boolean
}

/**
 * A permit taken by `acquire`. It ends exactly once, however often `release` is called, and automatically at the end of
 * the block when declared with `using`. A refused one holds nothing, and releasing it does nothing.
 */
export class Permit<T extends Decided = Verdict> implements Disposable {
  readonly allowed: boolean
  /** What was decided, with all its fields. */
  readonly decision: T
  #giveBack: (() => void) | undefined

  /** @internal */
  constructor(decision: T, giveBack: (() => void) | undefined) {
    this.allowed = decision.allowed
    this.decision = decision
    this.#giveBack = giveBack
  }

  /** Releases the permit, and returns whether it was still held. */
  release(): boolean {
    const giveBack = this.#giveBack
    this.#giveBack = undefined
    giveBack?.()
    return giveBack !== undefined
  }

  [Symbol.dispose](): void {
    this.release()
  }
}

/** A Permit of a limit on Redis: `await permit.release()`, or `await using`. */
export class SharedPermit<T extends Decided = Verdict> implements AsyncDisposable {
  readonly allowed: boolean
  /** What was decided, with all its fields. */
  readonly decision: T
  #giveBack: (() => Promise<void>) | undefined

  /** @internal */
  constructor(decision: T, giveBack: (() => Promise<void>) | undefined) {
    this.allowed = decision.allowed
    this.decision = decision
    this.#giveBack = giveBack
  }

  /** Gives the permit back, and returns whether it was still held. While Redis is unavailable, it expires instead. */
  async release(): Promise<boolean> {
    const giveBack = this.#giveBack
    this.#giveBack = undefined
    await giveBack?.()
    return giveBack !== undefined
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release()
  }
}
