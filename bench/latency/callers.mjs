/** How many callers there are. Each has a counter of its own. */
export const CALLERS = 100_000

/** Prime, so that every caller comes once before one comes again. */
const STEP = 7_919

/** The key of the caller who comes n-th, as long as those of the service are. */
export const keyOf = (n) => `sluice:{17}:bench|api_key|api_key=sk_live_7d1f0b6a2c9e4853d${(n * STEP) % CALLERS}`

/** What docs/operate.md tells operators to start the service with. All that is compared runs with it. */
export const NODE_FLAGS = ['--min-semi-space-size=16']

/** How long a plain counter lives. */
export const WINDOW_MS = '86400000'
