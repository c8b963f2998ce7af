import { SluiceError } from 'sluice/internal/core/errors'
import type { IdempotencyStore, KeptAnswer } from '../../quotas/tables/idempotency-keys.ts'

const LASTS_MS = 24 * 3_600_000
const MOST = 10_000
const MOST_OF_ONE = 1_000
/** Characters of answers, in all. An answer may have as many as a request. */
const MOST_CHARACTERS = 33_554_432

interface Kept {
  readonly owner: string
  readonly untilMs: number
  answer: KeptAnswer
}

/**
 * KeptAnswers remembers the answers to creations in the memory of this process. It never forgets one before its time, which
 * would let a repetition through: it takes no more keys instead.
 */
export class KeptAnswers implements IdempotencyStore {
  readonly #nowMs: () => number
  // In the order of their ends.
  readonly #kept = new Map<string, Kept>()
  readonly #countOf = new Map<string, number>()
  #characters = 0

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  get size(): number {
    return this.#kept.size
  }

  async claim(id: string, owner: string, fingerprint: string): Promise<KeptAnswer | undefined> {
    this.#forgetOld()
    const found = this.#kept.get(id)
    if (found !== undefined) return found.answer
    const count = this.#countOf.get(owner) ?? 0
    if (count >= MOST_OF_ONE || this.#kept.size >= MOST || this.#characters >= MOST_CHARACTERS) {
      throw new SluiceError('IDEMPOTENCY_KEYS_TOO_MANY', 'idempotency-key', `${count} of this token`)
    }
    this.#countOf.set(owner, count + 1)
    this.#kept.set(id, { owner, untilMs: this.#nowMs() + LASTS_MS, answer: { fingerprint, sealed: undefined } })
    return undefined
  }

  async fill<T>(id: string, work: () => Promise<T>, seal: (result: T) => string): Promise<T> {
    const result = await work()
    const found = this.#kept.get(id)
    if (found === undefined) return result
    const sealed = seal(result)
    found.answer = { ...found.answer, sealed }
    this.#characters += sealed.length
    return result
  }

  async free(id: string): Promise<void> {
    const found = this.#kept.get(id)
    if (found !== undefined && found.answer.sealed === undefined) this.#forget(id, found)
  }

  #forgetOld(): void {
    for (const [id, kept] of this.#kept) {
      if (kept.untilMs > this.#nowMs()) return
      this.#forget(id, kept)
    }
  }

  #forget(id: string, { owner, answer }: Kept): void {
    this.#kept.delete(id)
    this.#characters -= answer.sealed?.length ?? 0
    const count = (this.#countOf.get(owner) ?? 1) - 1
    if (count === 0) this.#countOf.delete(owner)
    else this.#countOf.set(owner, count)
  }
}
