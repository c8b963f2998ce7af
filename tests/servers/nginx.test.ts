import { expect, it, onTestFinished } from 'vitest'
import { startNginx } from './nginx.mjs'

it('answers as it is configured, and ends with its folder', async () => {
  const server = await startNginx({ server: 'location = /a { return 200 "it is a"; } location / { return 404; }' })
  onTestFinished(() => server.stop())
  expect(await (await fetch(`${server.url}/x/..%2fa`)).text()).toBe('it is a')
  expect((await fetch(`${server.url}/b`)).status).toBe(404)
  await server.stop()
  expect(server.isRunning).toBe(false)
  await expect(fetch(server.url)).rejects.toThrow()
})

it('says why it does not start', async () => {
  await expect(startNginx({ server: 'nonsense on;' })).rejects.toThrow('unknown directive "nonsense"')
})
