import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { startNginx, startNginxProxy } from './nginx.mjs'

it('answers as it is configured, and ends with its folder', async () => {
  const server = await startNginx({ server: 'location = /a { return 200 "it is a"; } location / { return 404; }' })
  onTestFinished(() => server.stop())
  expect(await (await fetch(`${server.url}/x/..%2fa`)).text()).toBe('it is a')
  expect((await fetch(`${server.url}/b`)).status).toBe(404)
  await server.stop()
  expect(server.isRunning).toBe(false)
  await expect(fetch(server.url)).rejects.toThrow()
})

it('passes on what it gets to a port', async () => {
  const app = createServer((request, response) => response.end(`app: ${request.url}`)).listen(0, '127.0.0.1')
  onTestFinished(() => void app.close())
  await once(app, 'listening')
  const proxy = await startNginxProxy((app.address() as AddressInfo).port)
  onTestFinished(() => proxy.stop())
  expect(await (await fetch(`${proxy.url}/x`)).text()).toBe('app: /x')
})

it('says why it does not start', async () => {
  await expect(startNginx({ server: 'nonsense on;' })).rejects.toThrow('unknown directive "nonsense"')
})
