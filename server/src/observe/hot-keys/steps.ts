/** Work that is done bit by bit, and what it comes to. Each step says how many keys it touched. */
export type Steps<T = void> = Generator<number, T>

/**
 * How many keys may be touched before requests have their turn. A key takes 0.1 to 0.3 µs: that is half a millisecond.
 */
export const KEYS_A_TURN = 2_048
/** The cost of a step in addition to its keys: many steps that touch nothing take time, too. */
const STEP = 16

/** Does steps until enough keys are touched, or all is done, and returns how many were. */
export function advance<T>(
  steps: Steps<T>,
  enough: number,
): { readonly touched: number; readonly done?: { value: T } } {
  let touched = 0
  while (touched < enough) {
    const { done, value } = steps.next()
    if (done === true) return { touched, done: { value } }
    touched += value + STEP
  }
  return { touched }
}

/** Does all steps. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done } = advance(steps, Number.POSITIVE_INFINITY)
    if (done !== undefined) return done.value
  }
}

/** Does all steps, and lets requests have their turn in between. */
export async function inTurns<T>(steps: Steps<T>): Promise<T> {
  for (;;) {
    const { done } = advance(steps, KEYS_A_TURN)
    if (done !== undefined) return done.value
    await new Promise((resolve) => void setImmediate(resolve))
  }
}
