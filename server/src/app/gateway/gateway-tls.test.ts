import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:http2'
import { get } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { expect, it, onTestFinished } from 'vitest'
import { makeCertificates } from '../../../../tests/servers/certificates.mjs'
import { until } from '../../../../tests/servers/until.mjs'
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

/** A gateway over TLS with its files, which a test may change. */
async function started(args: (dir: string) => readonly string[] = () => []) {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-tls-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const { ca } = await makeCertificates(dir)
  const app = await startApp((_, response) => response.end('ok'))
  copyFileSync(join(dir, 'server.crt'), join(dir, 'used.crt'))
  copyFileSync(join(dir, 'server.key'), join(dir, 'used.key'))
  const files = ['--tls-cert', join(dir, 'used.crt'), '--tls-key', join(dir, 'used.key')]
  const { url } = await startGateway(['--to', app, '--limit', '1000/1h', ...files, ...args(dir)])
  return { dir, ca, https: url.replace('http:', 'https:') }
}

it('asks clients for a certificate of the configured authority, and answers no other', async () => {
  const { dir, ca, https } = await started((at) => ['--client-ca', join(at, 'ca.crt')])
  const ask = (own: object): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      get(https, { ca, agent: false, ...own }, (response) => resolve(response.resume().statusCode)).on('error', reject)
    })
  const own = { cert: readFileSync(join(dir, 'client.crt')), key: readFileSync(join(dir, 'client.key')) }
  expect(await ask(own)).toBe(200)
  await expect(ask({})).rejects.toThrow()
})

it('shows a changed certificate to new connections', async () => {
  const { dir, ca, https } = await started()
  const { hostname, port } = new URL(https)
  const shown = (): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connectTls({ host: hostname, port: Number(port), ca }, () => {
        resolve(socket.getPeerCertificate().fingerprint256)
        socket.destroy()
      }).on('error', reject)
    })
  const before = await shown()
  copyFileSync(join(dir, 'client.crt'), join(dir, 'used.crt'))
  copyFileSync(join(dir, 'client.key'), join(dir, 'used.key'))
  await until('the other one is shown', async () => (await shown()) !== before)
})
