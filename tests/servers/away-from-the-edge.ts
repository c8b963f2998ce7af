/**
 * Loaded before every test file: the clock on the wall of this process is set ahead, by less than a minute, to the beginning of
 * a minute. Windows of a minute begin with the minute, and after that edge a part of the budget is there again: a test that
 * spends a budget and expects a refusal must not run across it. Real servers keep their own time: limits of those that count
 * by the wall are a day.
 */
const MINUTE_MS = 60_000
const clock = Date as typeof Date & { onTheWall?: () => number }
// Files that share a worker set it one after the other, each from the true time.
clock.onTheWall ??= Date.now
const now = clock.onTheWall
const aheadMs = MINUTE_MS - (now() % MINUTE_MS)

// Bound, it looks like the one that was there: fake timers are told from it by that.
Date.now = (() => now() + aheadMs).bind(undefined)
