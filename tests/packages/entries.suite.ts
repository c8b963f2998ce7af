const NEST = ['@nestjs/common', '@nestjs/core', 'reflect-metadata', 'rxjs']

/** Every entry of the library, what it needs next to it, and functions that it has. */
export const ENTRIES: readonly [entry: string, needs: readonly string[], names: readonly string[]][] = [
  ['sluice', [], ['rateLimit', 'createLimiter', 'SluiceError']],
  [
    'sluice/compat/express-rate-limit',
    [],
    ['rateLimit', 'MemoryStore', 'SluiceStore', 'ipKeyGenerator', 'SluiceError'],
  ],
  ['sluice/compat/fastify-rate-limit', [], ['fastifyRateLimit', 'rateLimit', 'normalizeIP', 'SluiceError']],
  ['sluice/compat/hono-rate-limiter', ['hono'], ['rateLimiter', 'webSocketLimiter', 'RedisStore', 'SluiceError']],
  ['sluice/compat/koa-ratelimit', [], ['rateLimit', 'SluiceError']],
  ['sluice/compat/nestjs-throttler', NEST, ['SluiceStorage', 'SluiceThrottlerGuard', 'SluiceError']],
  ['sluice/compat/upstash-ratelimit', [], ['Ratelimit', 'SluiceError']],
  ['sluice/express', [], ['rateLimit', 'SluiceError']],
  ['sluice/fastify', [], ['fastifyRateLimit', 'rateLimit', 'SluiceError']],
  ['sluice/fetch', [], ['rateLimit', 'protect', 'SluiceError']],
  ['sluice/hono', ['hono'], ['rateLimit', 'SluiceError']],
  ['sluice/jwt', [], ['jwt', 'SluiceError']],
  ['sluice/prometheus', ['prom-client', '@opentelemetry/api', 'tdigest', 'bintrees'], ['prometheus', 'SluiceError']],
  ['sluice/koa', [], ['rateLimit', 'SluiceError']],
  ['sluice/ledger', [], ['ledger', 'SluiceError']],
  ['sluice/nest', NEST, ['SluiceModule', 'SluiceGuard', 'RateLimit', 'SluiceError']],
  ['sluice/opentelemetry', ['@opentelemetry/api'], ['opentelemetry']],
  ['sluice/memcached', [], ['memcached', 'SluiceError']],
  ['sluice/postgres', [], ['postgres', 'SluiceError']],
  ['sluice/redis', [], ['redis', 'SluiceError']],
  ['sluice/redis-http', [], ['redisHttp', 'SluiceError']],
  ['sluice/rules', [], ['rules', 'SluiceError']],
  ['sluice/shed', [], ['shed', 'SluiceError']],
]
