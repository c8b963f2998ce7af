/** Calls back once after a time, and returns what takes that back. */
export type Schedule = (work: () => void, ms: number) => () => void

/** Returns a Schedule that keeps no process alive. */
export const after: Schedule = (work, ms) => {
  const timer = setTimeout(work, ms)
  timer.unref()
  return () => clearTimeout(timer)
}

/** Returns a Schedule that keeps the process alive: what waits is all that there is yet. */
export const keepingAlive: Schedule = (work, ms) => {
  const timer = setTimeout(work, ms)
  return () => clearTimeout(timer)
}
