import { describe } from 'vitest'
import { testDatabases } from '../database/databases.suite.ts'
import { quotaStoreSuite } from './quota-store.suite.ts'

describe.each(testDatabases)('quotas on %s', (_, make) => quotaStoreSuite(make))
