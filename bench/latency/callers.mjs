/** How many callers there are, each with a separate counter. */
export const CALLERS = 100_000

/** Prime, so that every caller comes once before one comes again. */
const STEP = 7_919

/** The key of the n-th caller, as long as the service's keys. */
export const keyOf = (n) => `sluice:{17}:bench|api_key|api_key=sk_live_7d1f0b6a2c9e4853d${(n * STEP) % CALLERS}`

/** The flags that docs/operate.md recommends for the service. Everything that is compared runs with them. */
export const NODE_FLAGS = ['--min-semi-space-size=16']

/** How long a plain counter lives. */
export const WINDOW_MS = '86400000'
