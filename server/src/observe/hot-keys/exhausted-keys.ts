import type { Steps } from './steps.ts'

/** How long a key has to be at 0 before it counts. */
export const EXHAUSTED_MS = 5 * 60_000
/** A key without requests may have recovered: it is forgotten after this long. */
const SILENT_MS = 5 * 60_000
/** When there is no room, keys without requests for this long make room for others. */
const CROWDED_SILENT_MS = 60_000

const KEYS_A_STEP = 1_024

interface Standing {
  readonly sinceMs: number
  lastMs: number
}

/**
 * Tracks how long keys have been at 0 remaining: since the first decision that left nothing, if every later one did so,
 * too. Known keys keep their place; while there is no room, new ones are not followed.
 */
export class ExhaustedKeys {
  readonly #standings = new Map<string, Standing>()

  get held(): number {
    return this.#standings.size
  }

  /** Records a decision that left nothing. On the hot path, like above. */
  atZero(key: string, nowMs: number, room: number): void {
    const known = this.#standings.get(key)
    if (known !== undefined) known.lastMs = nowMs
    else if (room > 0) this.#standings.set(key, { sinceMs: nowMs, lastMs: nowMs })
  }

  /** Records a decision that left something. */
  above(key: string): void {
    if (this.#standings.size > 0) this.#standings.delete(key)
  }

  /** Forgets keys without requests. */
  *turn(nowMs: number, isCrowded: boolean): Steps {
    const silentMs = isCrowded ? CROWDED_SILENT_MS : SILENT_MS
    let touched = 0
    for (const [key, { lastMs }] of this.#standings) {
      if (nowMs - lastMs >= silentMs) this.#standings.delete(key)
      if (++touched % KEYS_A_STEP === 0) yield KEYS_A_STEP
    }
    yield touched % KEYS_A_STEP
  }

  /** Returns how many keys have been at 0 for five minutes. */
  count(): number {
    let count = 0
    for (const { sinceMs, lastMs } of this.#standings.values()) if (lastMs - sinceMs >= EXHAUSTED_MS) count++
    return count
  }
}
