import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { startNginx } from './nginx.mjs'

it('answers by itself, or passes on to a port', async () => {
  const app = createServer((request, response) => response.end(`app: ${request.url}`)).listen(0, '127.0.0.1')
  onTestFinished(() => void app.close())
  await once(app, 'listening')
  const alone = await startNginx({})
  onTestFinished(() => alone.stop())
  const proxy = await startNginx({ upstreamPort: (app.address() as AddressInfo).port })
  onTestFinished(() => proxy.stop())
  expect(await (await fetch(`${alone.url}/x`)).text()).toBe('ok')
  expect(await (await fetch(`${proxy.url}/x`)).text()).toBe('app: /x')
  await proxy.stop()
  await expect(fetch(proxy.url)).rejects.toThrow()
})

it('says what is wrong with its configuration', async () => {
  await expect(startNginx({ directives: 'nonsense;' })).rejects.toThrow(/nginx ended: .*unknown directive "nonsense"/)
})
