// An app that knows nothing of limits: a login, a model that counts its tokens, reports, and pages.
import { createServer } from 'node:http'

/** Starts the app on a port, or a free one, and returns its address. */
export async function listenApp(port = 0) {
  const server = createServer((request, response) => {
    const [path] = (request.url ?? '/').split('?')
    if (path === '/login') return login(request, response)
    if (path === '/v1/chat') return chat(response)
    response.writeHead(200, { 'Content-Type': 'text/plain' }).end(`${request.method} ${path}\n`)
  })
  await new Promise((resolve) => server.listen(port, '127.0.0.1', () => resolve(undefined)))
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : port}`
}

/** Takes one password for everybody. */
async function login(request, response) {
  let text = ''
  for await (const chunk of request) text += chunk
  const isRight = text.includes('"correct horse"')
  response.writeHead(isRight ? 200 : 401, { 'Content-Type': 'text/plain' }).end(isRight ? 'welcome\n' : 'wrong\n')
}

/** Answers word by word, and says in the end what that has cost. */
function chat(response) {
  response.writeHead(200, { 'Content-Type': 'text/event-stream' })
  for (const word of ['Hello', ' from', ' a', ' model']) response.write(`data: ${JSON.stringify({ text: word })}\n\n`)
  response.end(`data: ${JSON.stringify({ usage: { total_tokens: 120 } })}\n\ndata: [DONE]\n\n`)
}
