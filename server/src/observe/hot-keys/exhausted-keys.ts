import type { Steps } from './steps.ts'

/** How long a key has to be at 0 before it counts. */
export const EXHAUSTED_MS = 5 * 60_000
/** Whether a key that nobody asks about is still at 0, is not known: it is forgotten after this long. */
const SILENT_MS = 5 * 60_000
/** When there is no room: those that are silent this long make room for others. */
const CROWDED_SILENT_MS = 60_000

const KEYS_A_STEP = 1_024

interface Standing {
  readonly sinceMs: number
  lastMs: number
}

/**
 * ExhaustedKeys knows how long keys have been at 0 remaining: since the first decision that left nothing, if every later
 * one did so, too. Those that are known keep their place; while there is no room, newcomers are not followed.
 */
export class ExhaustedKeys {
  readonly #standings = new Map<string, Standing>()

  get held(): number {
    return this.#standings.size
  }

  /** atZero is told of a decision that left nothing. It is on the hot path, as is above. */
  atZero(key: string, nowMs: number, room: number): void {
    const known = this.#standings.get(key)
    if (known !== undefined) known.lastMs = nowMs
    else if (room > 0) this.#standings.set(key, { sinceMs: nowMs, lastMs: nowMs })
  }

  /** above is told of a decision that left something. */
  above(key: string): void {
    if (this.#standings.size > 0) this.#standings.delete(key)
  }

  /** turn forgets keys that nobody asks about. */
  *turn(nowMs: number, isCrowded: boolean): Steps {
    const silentMs = isCrowded ? CROWDED_SILENT_MS : SILENT_MS
    let touched = 0
    for (const [key, { lastMs }] of this.#standings) {
      if (nowMs - lastMs >= silentMs) this.#standings.delete(key)
      if (++touched % KEYS_A_STEP === 0) yield KEYS_A_STEP
    }
    yield touched % KEYS_A_STEP
  }

  /** count says how many keys have been at 0 for five minutes. */
  count(): number {
    let count = 0
    for (const { sinceMs, lastMs } of this.#standings.values()) if (lastMs - sinceMs >= EXHAUSTED_MS) count++
    return count
  }
}
