import { createServer } from 'node:net'
import { expect, it } from 'vitest'
import { freePort } from './ports.mjs'
import { startRedis } from './redis.mjs'

it('ports are free, each given once, and leave room for the bus of a cluster', async () => {
  const ports = await Promise.all(Array.from({ length: 50 }, freePort))
  expect(new Set(ports).size).toBe(50)
  for (const port of ports) expect(port + 10_000).toBeLessThan(30_000)
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(ports[0], '127.0.0.1', resolve))
  server.close()
})

it('many servers start at the same time', async () => {
  const servers = await Promise.all(Array.from({ length: 8 }, () => startRedis()))
  expect(await Promise.all(servers.map((server) => server.call('PING')))).toEqual(Array(8).fill('PONG'))
  await Promise.all(servers.map((server) => server.stop()))
})
