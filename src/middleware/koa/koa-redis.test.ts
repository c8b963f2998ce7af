import { testAdapterOnRedis } from '../adapter-redis.suite.ts'
import { type PlainOptions, rateLimit } from './index.ts'
import { headerOf, koaApp, serveKoa } from './koa-app.suite.ts'

testAdapterOnRedis({
  name: 'sluice/koa',
  start: async (options, routes) => {
    const limiters = options.map((each) => rateLimit(each as PlainOptions))
    return { ...(await serveKoa(koaApp(limiters, routes))), limiters }
  },
  header: headerOf,
})
