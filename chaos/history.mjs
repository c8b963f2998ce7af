/** Whether a history of decisions on one key is that of a counter: what is left and when calls began and ended agree. */

/**
 * Looks for two admitted calls that no single counter explains: they were left with the same, or one had ended before
 * the other began and was left with less. Calls have `startMs`, `endMs` and `remaining`. Returns the pair, or undefined.
 *
 * A counter that admits one hit at a time leaves each admitted call with a different number. Then the order of those
 * numbers is the only order in which the calls can have happened, and it must not contradict the clock.
 */
export function contradiction(calls) {
  const ordered = calls.toSorted((a, b) => b.remaining - a.remaining)
  let latest
  for (const [i, call] of ordered.entries()) {
    const before = ordered[i - 1]
    if (before?.remaining === call.remaining) return [before, call]
    // All before it in this order happened earlier: none may have begun after it ended.
    if (latest !== undefined && latest.startMs > call.endMs) return [latest, call]
    if (latest === undefined || call.startMs > latest.startMs) latest = call
  }
  return undefined
}
