import type { AlgorithmRecord } from './algorithm.ts'
import { CONCURRENCY } from './concurrency.ts'
import { FIXED_WINDOW } from './fixed-window.ts'
import { GCRA } from './gcra.ts'
import { LEAKY_BUCKET } from './leaky-bucket.ts'
import { SLIDING_LOG } from './sliding-log.ts'
import { SLIDING_WINDOW } from './sliding-window.ts'
import { TOKEN_BUCKET } from './token-bucket.ts'

const RECORDS = {
  sliding_window: SLIDING_WINDOW,
  token_bucket: TOKEN_BUCKET,
  gcra: GCRA,
  leaky_bucket: LEAKY_BUCKET,
  fixed_window: FIXED_WINDOW,
  sliding_log: SLIDING_LOG,
  concurrency: CONCURRENCY,
} satisfies Record<string, AlgorithmRecord>

/** The name of a way to count: docs/algorithms.md helps to choose. */
export type Algorithm = keyof typeof RECORDS

/** Every algorithm by name. A limit holds the record of its algorithm. */
export const ALGORITHMS: Readonly<Record<Algorithm, AlgorithmRecord>> = RECORDS

export const ALGORITHM_NAMES = Object.keys(ALGORITHMS) as readonly Algorithm[]
