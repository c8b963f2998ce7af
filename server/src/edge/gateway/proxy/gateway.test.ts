import { describe, expect, it } from 'vitest'
import { RecordingGate, startApp, startGateway } from './gateway.suite.ts'

describe('openGateway', () => {
  it('leads a request to the upstream and its answer back', async () => {
    const gate = new RecordingGate()
    const app = await startApp((request, response) => {
      let body = ''
      request.on('data', (chunk) => (body += chunk))
      request.on('end', () =>
        response.writeHead(201, { 'X-Seen': `${request.method} ${request.url}` }).end(`got ${body}`),
      )
    })
    const { url } = await startGateway(app, { gate })
    const response = await fetch(`${url}/a/b?c=d`, { method: 'POST', body: 'hello' })
    expect([response.status, response.headers.get('x-seen'), await response.text()]).toEqual([
      201,
      'POST /a/b?c=d',
      'got hello',
    ])
    expect(gate).toMatchObject({
      statuses: [201],
      ended: ['finish'],
      asked: [{ method: 'POST', path: '/a/b', ip: '127.0.0.1' }],
    })
  })
})
