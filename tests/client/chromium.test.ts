import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { expect, it, onTestFinished } from 'vitest'
import { makeTemporaryDir } from '../servers/reaper.mjs'
import { ServerProcess } from '../servers/server-process.mjs'

/** What the page does: calls in two tabs of one name, one of which is refused, and tells how that went. */
const PAGE = `<!doctype html><script type="module">
import { createFetch, RateLimitError, shareTabs } from '/client.js'
const result = {}
const [one, two] = [createFetch({ throwOnGiveUp: true, share: shareTabs('page') }), createFetch({ throwOnGiveUp: true, share: shareTabs('page') })]
result.paced = (await Promise.all(Array.from({ length: 30 }, () => one('/paced')))).map(({ status }) => status)
result.retried = (await one('/refused-once')).status
result.counts = one.counts()
await one('/empty')
await new Promise((resolve) => setTimeout(resolve, 50))
try {
  await two('/paced', { rateLimit: { deadlineMs: 1000 } })
} catch (error) {
  result.shared = [error instanceof RateLimitError, error.reason]
}
await fetch('/result', { method: 'POST', body: JSON.stringify(result) })
</script>`

/** The client as an app would bundle it. */
async function bundled(): Promise<string> {
  const input = fileURLToPath(new URL('../../client/src/index.ts', import.meta.url))
  const bundle = await rolldown({ input, platform: 'browser' })
  const { output } = await bundle.generate({ format: 'esm', minify: true })
  await bundle.close()
  return output[0].code
}

it('runs in Chromium: paces, tries again, and shares with another tab', async () => {
  const client = await bundled()
  let refusals = 0
  let told: (result: unknown) => void = () => {}
  const result = new Promise<unknown>((resolve) => {
    told = resolve
  })
  const fields = (remaining: number, reset: number) => ({
    RateLimit: `"page";r=${remaining};t=${reset}`,
    'RateLimit-Policy': '"page";q=100;w=1',
  })
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.url === '/') response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE)
    else if (request.url === '/client.js') response.writeHead(200, { 'content-type': 'text/javascript' }).end(client)
    else if (request.url === '/paced') response.writeHead(200, fields(90, 1)).end()
    else if (request.url === '/empty') response.writeHead(200, fields(0, 3_000)).end()
    else if (request.url === '/refused-once')
      response.writeHead(refusals++ === 0 ? 429 : 200, { 'Retry-After-Ms': '5' }).end()
    else if (request.url === '/result') told(JSON.parse(await text(request)))
    else response.writeHead(404).end()
  }
  const server = createServer((request, response) => void answer(request, response))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  // It goes when this process ends: parts of a browser that was killed write for a moment longer.
  const dir = makeTemporaryDir('chromium')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const args = [
    '--headless=new',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-dev-shm-usage',
    `--user-data-dir=${dir}/profile`,
    url,
  ]
  const browser = new ServerProcess({ command: 'chromium', args, dir })
  onTestFinished(async () => {
    await browser.kill()
    server.closeAllConnections()
    server.close()
  })
  expect(await result).toEqual({
    paced: Array(30).fill(200),
    retried: 200,
    counts: { calls: 31, sent: 32, refused: 1, retried: 1, gaveUp: 0, waiting: 0 },
    shared: [true, 'deadline'],
  })
})
