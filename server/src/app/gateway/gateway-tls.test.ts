import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:http2'
import { get } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { makeCertificates } from '../../../../tests/servers/certificates.mjs'
import { startApp, startGateway } from './gateway.suite.ts'

it('takes HTTP/1.1 and HTTP/2 over TLS, with the same limits', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-tls-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const { ca } = await makeCertificates(dir)
  const app = await startApp((request, response) => response.end(`${request.headers['x-forwarded-proto']}`))
  const files = ['--tls-cert', join(dir, 'server.crt'), '--tls-key', join(dir, 'server.key')]
  const { url } = await startGateway(['--to', app, '--limit', '2/1h', ...files])
  const https = url.replace('http:', 'https:')
  const first = await new Promise<string>((resolve, reject) => {
    get(https, { ca, agent: false }, (response) => {
      response.on('data', (data) => resolve(`${response.statusCode} ${data}`))
    }).on('error', reject)
  })
  expect(first).toBe('200 https')
  const session = connect(https, { ca })
  onTestFinished(() => session.destroy())
  const ask = (): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const stream = session.request({ ':path': '/' })
      stream.on('response', (headers) => resolve(headers[':status']))
      stream.on('error', reject).resume()
    })
  expect([await ask(), await ask()]).toEqual([200, 429])
})
