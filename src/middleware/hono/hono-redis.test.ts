import { testAdapterOnRedis } from '../adapter-redis.suite.ts'
import { headerOf, honoApp, onNode } from './hono-app.suite.ts'
import { type PlainOptions, rateLimit } from './index.ts'

testAdapterOnRedis({
  name: 'sluice/hono',
  start: async (options, routes) => {
    const limiters = options.map((each) => rateLimit(each as PlainOptions))
    return { ...(await onNode(honoApp(limiters, routes))), limiters }
  },
  header: headerOf,
})
