import type { UsageCounter } from './usage-counter.ts'
import type { UsageNews } from './usage-news.ts'

/** How often a process tells what was used. What it has not told is lost when it is killed. */
export const TELL_EVERY_MS = 1_000

/** TellUsage takes news. It resolves when there may be more, and never rejects. */
export type TellUsage = (news: UsageNews) => Promise<void>

/**
 * A UsageTeller tells what a counter has counted, were it nothing, at the beginning of each second of the clock: so an hour ends with its
 * last second, and it is known until when everything was told.
 * While the one before is on its way, the counter goes on counting.
 */
export class UsageTeller {
  readonly #counter: UsageCounter
  readonly #tell: TellUsage
  #timer: NodeJS.Timeout | undefined
  #underWay: Promise<void> | undefined

  constructor(counter: UsageCounter, tell: TellUsage) {
    this.#counter = counter
    this.#tell = tell
    this.#wait()
  }

  /** now tells at once, unless the last news are still on their way. */
  now(): void {
    if (this.#underWay !== undefined) return
    this.#underWay = this.#tell(this.#counter.take()).finally(() => {
      this.#underWay = undefined
    })
  }

  /** close tells the rest. */
  async close(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#underWay
    this.now()
    await this.#underWay
  }

  #wait(): void {
    this.#timer = setTimeout(
      () => {
        this.now()
        this.#wait()
      },
      TELL_EVERY_MS - (Date.now() % TELL_EVERY_MS),
    ).unref()
  }
}
