import { readFileSync } from 'node:fs'
import { connect } from 'node:http2'
import { createServer } from 'node:https'
import { type AddressInfo, connect as connectTcp, createServer as createTcpServer } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { makeCertificates } from '../../../../../tests/servers/certificates.mjs'
import { makeTemporaryDir } from '../../../../../tests/servers/reaper.mjs'
import { until } from '../../../../../tests/servers/until.mjs'
import { type Gateway, startApp, startGateway } from './gateway.suite.ts'

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

/** Has the gateway accept what comes to a port that is not its own, as a worker does. */
async function handedOver(gateway: Gateway): Promise<number> {
  const server = createTcpServer({ pauseOnConnect: true, allowHalfOpen: true }, (socket) => gateway.accept(0, socket))
  onTestFinished(() => void server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
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

  it('shows another certificate to callers that come after a change', async () => {
    const app = await startApp((_, response) => response.end('ok'))
    const { port, gateway } = await startGateway(app, {
      listeners: [{ port: 0, host: '127.0.0.1', tls: pair('server') }],
    })
    const nameSeen = async () => (await ask(port, ['http/1.1'])).socket.getPeerCertificate().subject.CN
    const before = await nameSeen()
    gateway.setTls(0, pair('client'))
    expect([before, await nameSeen()]).toEqual(['sluice test server', 'sluice test client'])
  })

  it.each(['its own port', 'another process'])(
    'counts a connection of %s that never shakes hands, and forgets it when it leaves',
    async (origin) => {
      const { port: own, gateway } = await startGateway('http://127.0.0.1:9', {
        listeners: [{ port: 0, host: '127.0.0.1', tls: pair('server') }],
      })
      const port = origin === 'its own port' ? own : await handedOver(gateway)
      // A client that stays is cut off after a while. One that came before is still there when the other is forgotten.
      let isCutOff = false
      const staying = connectTcp(port, '127.0.0.1').on('close', () => (isCutOff = true))
      onTestFinished(() => void staying.destroy())
      await until('it is counted', () => gateway.stats.connections === 1)
      const leaving = connectTcp(port, '127.0.0.1')
      await until('it is counted', () => gateway.stats.connections === 2)
      leaving.destroy()
      await until('it is forgotten', () => gateway.stats.connections === 1)
      expect(isCutOff).toBe(false)
    },
  )

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
