import { createServer } from 'node:http'
import { createLimiter } from 'sluice'
import { rateLimitFields } from 'sluice/internal/core/http/fields'

// An API with a limit for each path, in a separate process. Prints its port; GET /counts returns how many requests each
// path got. KIND is how it refuses: with all fields (announced), with 429 and no more (bare), or as GitHub's secondary
// limits do, 403 and Retry-After behind the fields of a budget for an hour (github).
const [perSecond, kind] = process.argv.slice(2)
const algorithm = kind === 'announced' ? 'sliding_window' : 'fixed_window'
const rate_limit = { unit: 'second', requests_per_unit: Number(perSecond), algorithm }
const limiter = createLimiter({ rules: { domain: 'api', descriptors: [{ key: 'path', rate_limit }] } })
const counts = new Map()
const HOUR = { 'x-ratelimit-limit': '5000', 'x-ratelimit-remaining': '4900', 'x-ratelimit-used': '100' }

function fieldsOf(decision) {
  if (kind === 'announced') return rateLimitFields(decision, Date.now())
  if (kind === 'bare') return []
  const fields = [...Object.entries(HOUR), ['x-ratelimit-reset', `${Math.ceil(Date.now() / 1_000) + 3_000}`]]
  const retryAfterS = Math.ceil((decision.retryAfterMs ?? 0) / 1_000)
  return decision.allowed ? fields : [...fields, ['retry-after', `${retryAfterS}`]]
}

const server = createServer((request, response) => {
  // SDKs add paths to the address that they are given.
  const [, path] = request.url.split('/')
  if (path === 'counts') return response.end(JSON.stringify(Object.fromEntries(counts)))
  const decision = limiter.check({ domain: 'api', descriptors: [{ entries: [{ key: 'path', value: path }] }] })
  const { asked, refused } = counts.get(path) ?? { asked: 0, refused: 0 }
  counts.set(path, { asked: asked + 1, refused: refused + (decision.allowed ? 0 : 1) })
  for (const [name, value] of fieldsOf(decision)) response.setHeader(name, value)
  response.setHeader('content-type', 'application/json')
  if (decision.allowed) return response.end('{}')
  const message = 'You have exceeded a secondary rate limit.'
  response.writeHead(kind === 'github' ? 403 : 429).end(JSON.stringify({ message, error: { message } }))
})
server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`))
