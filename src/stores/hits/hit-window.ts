const MAX_WINDOW_MS = 10 * 365 * 86_400_000

/** Returns the window that is nearest to what was asked for: libraries take what a limit here refuses. */
export function nearestWindow(windowMs: number): number {
  return windowMs >= 1 ? Math.min(Math.ceil(windowMs), MAX_WINDOW_MS) : 1
}
