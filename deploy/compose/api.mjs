import { createServer } from 'node:http'

// The API that Envoy protects in compose.yaml. It says hello, and who is asking.
const server = createServer((request, response) => {
  response.setHeader('content-type', 'application/json')
  response.end(`${JSON.stringify({ hello: request.headers['x-user'] ?? 'stranger', path: request.url })}\n`)
})
server.listen(3001)
process.on('SIGTERM', () => server.close(() => process.exit(0)))
