/** A Load asks a service again and again over connections that it keeps, and remembers what went wrong. */
export interface Load {
  /** Waits for so many more answers. */
  grown(more: number): Promise<void>
  /** Ends the load, and returns what went wrong: an empty list when every call was answered. */
  stop(): Promise<readonly string[]>
}

/** Has callers make one call after the other. `call` resolves when it was answered as it should be. */
export function keepAsking(callers: number, call: (caller: number) => Promise<void>, close: () => void): Load {
  const failures: string[] = []
  const waiting = new Set<() => void>()
  let answered = 0
  let isStopped = false
  const caller = async (_: unknown, i: number): Promise<void> => {
    while (!isStopped) {
      try {
        await call(i)
        answered++
      } catch (error) {
        failures.push(String(error))
      }
      for (const look of waiting) look()
    }
  }
  const all = Promise.all(Array.from({ length: callers }, caller))
  return {
    grown: (more) => {
      const enough = answered + more
      return new Promise((resolve) => {
        const look = (): void => {
          // A load that only fails ends the wait, too; stop() tells.
          if (answered < enough && failures.length < 1_000) return
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
      })
    },
    stop: async () => {
      isStopped = true
      await all
      close()
      return failures
    },
  }
}
