import { testAdapterOnRedis } from '../adapter-redis.suite.ts'
import { fetchHandler, serveFetch } from './fetch-app.suite.ts'
import { type FetchOptions, rateLimit } from './index.ts'

testAdapterOnRedis({
  name: 'sluice/fetch',
  start: async (options, routes) => {
    const limiters = options.map((each) => rateLimit(each as FetchOptions))
    const handler = limiters.reduceRight((inner, limiter) => limiter.protect(inner), fetchHandler(routes))
    return { ...(await serveFetch(handler)), limiters }
  },
  header: (request, name) => (request as Request).headers.get(name) ?? undefined,
})
