import { createServer, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { sendRefusal } from './node-response.ts'

const REFUSAL = { status: 429, contentType: 'text/plain; charset=utf-8', body: 'Zu viel für heute: 10 €.', headers: [] }

/** What a client gets from a server that answers so. */
async function answerOf(answer: (response: ServerResponse) => void, method = 'GET') {
  const server = createServer((_, response) => {
    try {
      answer(response)
    } catch {
      response.destroy()
    }
  })
  onTestFinished(() => void server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return new Promise<{ status: number | undefined; length: string | undefined; body: string }>((resolve, reject) => {
    const asked = request({ port, host: '127.0.0.1', method, agent: false }, (response) => {
      const { statusCode: status, headers } = response
      text(response).then((body) => resolve({ status, length: headers['content-length'], body }), reject)
    })
    asked.on('error', reject).end()
  })
}

describe('a refusal', () => {
  it('arrives whole, whatever its letters, and without its body where only the head was asked for', async () => {
    const length = String(Buffer.byteLength(REFUSAL.body))
    const send = (response: ServerResponse): void => sendRefusal(response, REFUSAL, response.req.method === 'HEAD')
    expect(await answerOf(send)).toEqual({ status: 429, length, body: REFUSAL.body })
    expect(await answerOf(send, 'HEAD')).toEqual({ status: 429, length, body: '' })
  })

  it('leaves an answer alone that has begun, or has ended', async () => {
    const both = (begin: (response: ServerResponse) => void) => (response: ServerResponse) => {
      begin(response)
      sendRefusal(response, REFUSAL, false)
      if (!response.writableEnded) response.end()
    }
    expect(await answerOf(both((response) => response.write('mine')))).toMatchObject({ status: 200, body: 'mine' })
    expect(await answerOf(both((response) => response.end('mine')))).toMatchObject({ status: 200, body: 'mine' })
  })
})
