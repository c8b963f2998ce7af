import type { Budget } from './rate-limits.ts'

/** What one PacedFetch shares with the others: what a server announced, and how long to pause for it. */
export interface Learnt {
  /** Which server, and whose budget. */
  readonly lane: string
  readonly budgets: readonly Budget[]
  readonly pauseMs: number
}

/** Passes on what is learnt, to and from others who call the same servers. */
export interface Share {
  publish(learnt: Learnt): void
  /** Called once, with the listener for everything that others learn. */
  hear(listener: (learnt: Learnt) => void): void
  close(): void
}

/** Shares between the tabs of one origin through a BroadcastChannel, where there is such a thing. */
export function shareTabs(name: string): Share {
  let channel = typeof BroadcastChannel === 'undefined' ? undefined : new BroadcastChannel(name)
  // Where that can be said: an open channel keeps no process alive.
  ;(channel as { unref?(): void } | undefined)?.unref?.()
  return {
    publish: (learnt) => channel?.postMessage(learnt),
    hear: (listener) => {
      if (channel === undefined) return
      channel.onmessage = ({ data }: { readonly data: unknown }) => {
        if (isLearnt(data)) listener(data)
      }
    },
    close: () => {
      channel?.close()
      channel = undefined
    },
  }
}

/** Returns whether a message is ours: another tab may run another version, or something else by the same name. */
function isLearnt(data: unknown): data is Learnt {
  const { lane, budgets, pauseMs } = (data ?? {}) as Partial<Learnt>
  return typeof lane === 'string' && isAmount(pauseMs) && Array.isArray(budgets) && budgets.every(isBudget)
}

function isBudget(data: unknown): boolean {
  const { name, unit, limit = 0, remaining = 0, resetMs = 0, windowMs = 1 } = (data ?? {}) as Partial<Budget>
  return typeof name === 'string' && typeof unit === 'string' && [limit, remaining, resetMs, windowMs].every(isAmount)
}

const isAmount = (value: unknown): boolean => Number.isFinite(value) && (value as number) >= 0
