/** A cost that a slice did not hold, and that waits for the answer to a request. */
export interface Waiter {
  readonly cost: number
  readonly dueAtMs: number
  /** Passed on to another holder that spends it: here it only needs to be available. */
  readonly isForOthers: boolean
  /** Part of the request in flight. */
  isAsked: boolean
  /** Whether it got what it waited for, and undefined until it is known. */
  isServed: boolean | undefined
  /** Why it will never know. */
  fault: unknown
  settle(isServed: boolean): void
  fail(fault: unknown): void
}

export function newWaiter(cost: number, dueAtMs: number, isForOthers: boolean): Waiter {
  return {
    cost,
    dueAtMs,
    isForOthers,
    isAsked: false,
    isServed: undefined,
    fault: undefined,
    settle() {},
    fail() {},
  }
}

/** Returns what a waiter got, synchronously if that is already known. Throws if it is known to have failed. */
export function answerOf(waiter: Waiter): boolean | Promise<boolean> {
  if (waiter.fault !== undefined) throw waiter.fault
  if (waiter.isServed !== undefined) return waiter.isServed
  return new Promise((resolve, reject) => {
    waiter.settle = resolve
    waiter.fail = reject
  })
}

export function settle(waiter: Waiter, isServed: boolean): void {
  waiter.isServed = isServed
  waiter.settle(isServed)
}

/** Fails all waiters, because no answer comes, and empties the list. */
export function failAll(waiting: Waiter[], fault: unknown): void {
  for (const waiter of waiting.splice(0)) {
    waiter.fault = fault
    waiter.fail(fault)
  }
}
