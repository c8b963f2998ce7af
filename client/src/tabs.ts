import type { Budget } from './rate-limits.ts'

/** What a tab tells the others: what a server said, and until when it wants to be left alone. */
export interface TabNews {
  readonly lane: string
  readonly budgets: readonly Budget[]
  readonly pauseMs: number
}

/** Tabs shares what is known between the tabs of one origin, where there are any. */
export class Tabs {
  #channel: BroadcastChannel | undefined

  constructor(name: string | undefined, hear: (news: TabNews) => void) {
    if (name === undefined || typeof BroadcastChannel === 'undefined') return
    this.#channel = new BroadcastChannel(name)
    this.#channel.onmessage = ({ data }: MessageEvent<unknown>) => {
      if (isNews(data)) hear(data)
    }
    // Where that can be said: an open channel keeps no process alive.
    ;(this.#channel as { unref?(): void }).unref?.()
  }

  tell(news: TabNews): void {
    this.#channel?.postMessage(news)
  }

  close(): void {
    this.#channel?.close()
    this.#channel = undefined
  }
}

/** isNews says whether a message is ours: another tab may run another version, or something else by the same name. */
function isNews(data: unknown): data is TabNews {
  const { lane, budgets, pauseMs } = (data ?? {}) as Partial<TabNews>
  return typeof lane === 'string' && isAmount(pauseMs) && Array.isArray(budgets) && budgets.every(isBudget)
}

function isBudget(data: unknown): boolean {
  const { name, unit, limit = 0, remaining = 0, resetMs = 0, windowMs = 1 } = (data ?? {}) as Partial<Budget>
  return typeof name === 'string' && typeof unit === 'string' && [limit, remaining, resetMs, windowMs].every(isAmount)
}

const isAmount = (value: unknown): boolean => Number.isFinite(value) && (value as number) >= 0
