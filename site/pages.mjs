/** The pages of the site by what a reader wants to do. Each is a document of docs/, without its ending. */
export const MENU = [
  {
    text: 'Start',
    pages: [
      'tutorial',
      'comparison',
      'migrate-from-envoy-ratelimit',
      'migrate-from-rate-limiter-flexible',
      'migrate-from-upstash-ratelimit',
    ],
  },
  {
    text: 'Limit',
    pages: [
      'algorithms',
      'rules',
      'identity',
      'quotas',
      'ledger',
      'consistency',
      'shedding',
      'middleware',
      'middleware/fastify',
      'middleware/fetch',
      'middleware/hono',
      'middleware/koa',
      'middleware/nest',
      'runtimes',
      'client',
      'testing',
      'recipes',
    ],
  },
  {
    text: 'Run',
    pages: ['deploy', 'rules-sources', 'sizing', 'simulate', 'aws', 'redis', 'stores', 'peers', 'gateway', 'upgrade'],
  },
  { text: 'Operate', pages: ['operate', 'observability', 'dashboard', 'runbooks', 'performance', 'faults'] },
  {
    text: 'Reference',
    pages: ['http', 'grpc', 'admin-api', 'errors', 'architecture', 'walk', 'decisions'],
  },
]

/** Documents outside of docs/ that are pages too, and where. */
export const BESIDE = new Map([
  ['CHANGELOG.md', 'changelog.md'],
  ['CONTRIBUTING.md', 'contributing.md'],
  ['SECURITY.md', 'security.md'],
])

/** The modules of the reference: what a user imports, and the source of it. */
export const MODULES = new Map([
  ['sluice', 'src/index.ts'],
  ['sluice/compat/express-rate-limit', 'src/compat/express-rate-limit/index.ts'],
  ['sluice/compat/fastify-rate-limit', 'src/compat/fastify-rate-limit/index.ts'],
  ['sluice/compat/hono-rate-limiter', 'src/compat/hono-rate-limiter/index.ts'],
  ['sluice/compat/koa-ratelimit', 'src/compat/koa-ratelimit/index.ts'],
  ['sluice/compat/nestjs-throttler', 'src/compat/nestjs-throttler/index.ts'],
  ['sluice/compat/upstash-ratelimit', 'src/compat/upstash-ratelimit/index.ts'],
  ['sluice/express', 'src/middleware/express/index.ts'],
  ['sluice/fastify', 'src/middleware/fastify/index.ts'],
  ['sluice/fetch', 'src/middleware/fetch/index.ts'],
  ['sluice/hono', 'src/middleware/hono/index.ts'],
  ['sluice/jwt', 'src/entries/jwt.ts'],
  ['sluice/koa', 'src/middleware/koa/index.ts'],
  ['sluice/ledger', 'src/entries/ledger.ts'],
  ['sluice/nest', 'src/middleware/nest/index.ts'],
  ['sluice/opentelemetry', 'src/observers/opentelemetry/index.ts'],
  ['sluice/prometheus', 'src/observers/prometheus/index.ts'],
  ['sluice/memcached', 'src/entries/memcached.ts'],
  ['sluice/postgres', 'src/entries/postgres.ts'],
  ['sluice/redis', 'src/entries/redis.ts'],
  ['sluice/redis-http', 'src/entries/redis-http.ts'],
  ['sluice/rules', 'src/entries/rules.ts'],
  ['sluice/shed', 'src/entries/shed.ts'],
  ['sluice-client', 'client/src/index.ts'],
  ['sluice-client/check', 'client/src/check/index.ts'],
  ['sluice-client/ledger', 'client/src/ledger/index.ts'],
])

/** pageOfModule is the page of a module in the reference, without its ending. */
export const pageOfModule = (module) => `api/${module}`
