import { readFileSync } from 'node:fs'
import { connect } from 'node:http2'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { makeCertificates } from '../../../../../tests/servers/certificates.mjs'
import { makeTemporaryDir } from '../../../../../tests/servers/reaper.mjs'
import { until } from '../../../../../tests/servers/until.mjs'
import { startApp, startGateway } from './gateway.suite.ts'

const dir = makeTemporaryDir('gateway-tls')
const file = (name: string): string => readFileSync(join(dir, name), 'utf8')
const pair = (name: string) => ({ cert: file(`${name}.crt`), key: file(`${name}.key`) })

beforeAll(async () => {
  await makeCertificates(dir)
})

async function ask(port: number, ALPNProtocols: string[]): Promise<{ socket: TLSSocket; text: () => string }> {
  const socket = connectTls({ port, host: '127.0.0.1', ca: file('ca.crt'), ALPNProtocols })
  let text = ''
  socket.on('data', (data) => (text += data))
  onTestFinished(() => void socket.destroy())
  await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject))
  return { socket, text: () => text }
}

describe('TLS', () => {
  it('serves HTTP/1.1 and HTTP/2, as the client agrees to, and says https to the upstream', async () => {
    const app = await startApp((request, response) => response.end(String(request.headers['x-forwarded-proto'])))
    const { port, gateway } = await startGateway(app, {
      listeners: [{ port: 0, host: '127.0.0.1', tls: pair('server') }],
    })
    const { socket, text } = await ask(port, ['http/1.1'])
    socket.write('GET / HTTP/1.1\r\nHost: a.example\r\n\r\n')
    await until('the answer is there', () => text().endsWith('\r\n\r\nhttps'))
    const session = connect(`https://127.0.0.1:${port}`, { ca: file('ca.crt') })
    onTestFinished(() => session.destroy())
    const stream = session.request({ ':path': '/' })
    let body = ''
    stream.on('data', (data) => (body += data))
    await until('the answer is there', () => body === 'https')
    expect(gateway.stats.connections).toBe(2)
    socket.destroy()
    session.destroy()
    await until('both are forgotten', () => gateway.stats.connections === 0)
  })

  it('shows another certificate to those who come after a change', async () => {
    const app = await startApp((_, response) => response.end('ok'))
    const { port, gateway } = await startGateway(app, {
      listeners: [{ port: 0, host: '127.0.0.1', tls: pair('server') }],
    })
    const nameSeen = async () => (await ask(port, ['http/1.1'])).socket.getPeerCertificate().subject.CN
    const before = await nameSeen()
    gateway.setTls(0, pair('client'))
    expect([before, await nameSeen()]).toEqual(['sluice test server', 'sluice test client'])
  })

  it('counts a connection that never shakes hands, and forgets it when it leaves', async () => {
    const { port, gateway } = await startGateway('http://127.0.0.1:9', {
      listeners: [{ port: 0, host: '127.0.0.1', tls: pair('server') }],
    })
    const { connect: connectTcp } = await import('node:net')
    const socket = connectTcp(port, '127.0.0.1')
    await until('it is counted', () => gateway.stats.connections === 1)
    socket.destroy()
    await until('it is forgotten', () => gateway.stats.connections === 0)
  })

  it('to the upstream is verified, always', async () => {
    const server = createServer(pair('server'), (_, response) => response.end('secure'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const app = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
    const { url: trusting } = await startGateway(app, { upstream: { tls: { ca: file('ca.crt') } } })
    expect(await (await fetch(trusting)).text()).toBe('secure')
    const { url: strict } = await startGateway(app)
    expect((await fetch(strict)).status).toBe(502)
  })
})
