import { createServer } from 'node:http'
import { createLimiter } from 'sluice'
import { rateLimitFields } from 'sluice/internal/core/http/fields'

// An API with a limit for each path, in a separate process. Prints its port; GET /counts returns how many requests each
// path got.
const [perSecond] = process.argv.slice(2)
const rate_limit = { unit: 'second', requests_per_unit: Number(perSecond) }
const limiter = createLimiter({ rules: { domain: 'api', descriptors: [{ key: 'path', rate_limit }] } })
const counts = new Map()

const server = createServer((request, response) => {
  const path = request.url
  if (path === '/counts') return response.end(JSON.stringify(Object.fromEntries(counts)))
  const decision = limiter.check({ domain: 'api', descriptors: [{ entries: [{ key: 'path', value: path }] }] })
  const { asked, refused } = counts.get(path) ?? { asked: 0, refused: 0 }
  counts.set(path, { asked: asked + 1, refused: refused + (decision.allowed ? 0 : 1) })
  for (const [name, value] of rateLimitFields(decision, Date.now())) response.setHeader(name, value)
  response.writeHead(decision.allowed ? 200 : 429).end()
})
server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`))
