import { describe } from 'vitest'
import { SLOW_MS, testDatabases } from '../database/databases.suite.ts'
import { quotaStoreSuite } from './record-store.suite.ts'

describe.each(testDatabases)('quotas on %s', { timeout: SLOW_MS }, (_, make) => quotaStoreSuite(make))
