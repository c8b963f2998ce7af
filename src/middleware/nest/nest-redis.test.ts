import { testAdapterOnRedis } from '../adapter-redis.suite.ts'
import { nestAdapters } from './nest-adapter.suite.ts'

for (const adapter of nestAdapters) testAdapterOnRedis(adapter)
