import { expect, it } from 'vitest'
import { parseDuration } from '../duration.ts'
import { LIMIT_OPTIONS } from '../limit-options.ts'
import { DEFAULTS } from './rule-defaults.ts'

it('are those of the table of options', () => {
  const { unlimited, cost, consistency, on_store_failure, local_share, sync_interval, retry_after_jitter } =
    LIMIT_OPTIONS
  expect(DEFAULTS).toMatchObject({
    unlimited: unlimited.default,
    cost: cost.default,
    consistency: consistency.default,
    syncIntervalMs: parseDuration(sync_interval.default, 'sync_interval'),
    onStoreFailure: on_store_failure.default,
    localShare: local_share.default,
    retryAfterJitterMs: retry_after_jitter.default,
  })
})
