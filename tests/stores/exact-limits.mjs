/** 300 in a time so long that nothing comes back while a test runs, in each algorithm. */
export const EXACT_LIMITS = {
  sliding_window: { limit: 300, window: '365d' },
  token_bucket: { algorithm: 'token_bucket', limit: 300, window: '365d' },
  gcra: { algorithm: 'gcra', limit: 300, window: '365d' },
  leaky_bucket: { algorithm: 'leaky_bucket', limit: 300, window: '365d' },
  fixed_window: { algorithm: 'fixed_window', limit: 300, window: '365d', anchor: 'first_hit' },
  sliding_log: { algorithm: 'sliding_log', limit: 300, window: '365d' },
  concurrency: { algorithm: 'concurrency', limit: 300, leaseTtl: '365d' },
}
