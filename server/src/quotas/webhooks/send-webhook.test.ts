import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { checkWebhookUrl, sendWebhook } from './send-webhook.ts'

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close()
    server.closeAllConnections()
  }
})

interface Got {
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** Starts a real server that answers with a status, or never. Returns its address and what it received. */
async function receiver(status: number | undefined, headers: Record<string, string> = {}) {
  const got: Got[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString()
    })
    request.on('end', () => {
      got.push({ headers: request.headers, body })
      if (status !== undefined) response.writeHead(status, headers).end('a long story')
    })
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, got }
}

const PRIVATE = { timeoutMs: 60_000, allowPrivate: true }
const PUBLIC = { timeoutMs: 60_000, allowPrivate: false }

describe('sendWebhook', () => {
  it('posts the body with its fields', async () => {
    const { url, got } = await receiver(204)
    expect(await sendWebhook(url, { 'webhook-id': 'm1' }, '{"ä":1}', PRIVATE)).toEqual({
      isDelivered: true,
      status: 204,
      error: undefined,
      isGone: false,
    })
    expect(got).toMatchObject([{ body: '{"ä":1}', headers: { 'webhook-id': 'm1', 'content-length': '8' } }])
  })

  it.each([400, 500, 503])('fails when the answer is %d', async (status) => {
    const { url } = await receiver(status)
    expect(await sendWebhook(url, {}, '{}', PRIVATE)).toMatchObject({ isDelivered: false, status, isGone: false })
  })

  it('follows no redirect', async () => {
    const other = await receiver(200)
    const { url } = await receiver(307, { location: other.url })
    expect(await sendWebhook(url, {}, '{}', PRIVATE)).toMatchObject({ isDelivered: false, status: 307 })
    expect(other.got).toEqual([])
  })

  it('says when the receiver is gone for good', async () => {
    const { url } = await receiver(410)
    expect(await sendWebhook(url, {}, '{}', PRIVATE)).toMatchObject({ isDelivered: false, isGone: true })
  })

  it('gives up on a receiver that does not answer', async () => {
    const { url } = await receiver(undefined)
    const outcome = await sendWebhook(url, {}, '{}', { ...PRIVATE, timeoutMs: 50 })
    expect(outcome).toMatchObject({ isDelivered: false, status: undefined, error: 'no answer in 50 ms' })
  })

  it.each(['http://127.0.0.1:1/', 'https://127.0.0.1:1/', 'https://0x7f.1/', 'https://2130706433/', 'https://[::1]/'])(
    'does not connect to %s unless private addresses are allowed',
    async (url) => {
      expect(await sendWebhook(url, {}, '{}', PUBLIC)).toMatchObject({ isDelivered: false, status: undefined })
      expect((await sendWebhook(url, {}, '{}', PUBLIC)).error).toMatch(/^WEBHOOK_URL_INVALID/)
    },
  )

  it('does not connect to a name that leads to a private address', async () => {
    const { url, got } = await receiver(200)
    const { port } = new URL(url)
    const { error } = await sendWebhook(`https://localhost:${port}/`, {}, '{}', PUBLIC)
    expect(error).toBe('localhost does not lead to public addresses only')
    expect(got).toEqual([])
  })
})

describe('checkWebhookUrl', () => {
  it.each([
    ['not a url', 'not a URL'],
    [`https://example.com/${'a'.repeat(2_048)}`, 'not a URL'],
    ['http://example.com/', 'got http://'],
    ['ftp://example.com/', 'got ftp://'],
    ['https://user:pass@example.com/', 'it holds a user or a password'],
    ['https://10.0.0.1/', '10.0.0.1 is not a public address'],
    ['https://[::ffff:10.0.0.1]/', '::ffff:a00:1 is not a public address'],
  ])('refuses %s', (url, why) => {
    expect(() => checkWebhookUrl(url, PUBLIC)).toThrow(
      `WEBHOOK_URL_INVALID: url: ${why}. A webhook address must be an https URL of a public address, without a user or a password.`,
    )
  })
})
