export const ALGORITHM_NAMES = [
  'sliding_window',
  'token_bucket',
  'gcra',
  'leaky_bucket',
  'fixed_window',
  'sliding_log',
  'concurrency',
] as const

export type Algorithm = (typeof ALGORITHM_NAMES)[number]
