// @ts-check
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

// Below the range from which systems pick the ports of outgoing connections, so that none of those takes a port between
// the look and the use. The bus of a Redis Cluster node listens 10,000 above the node's port: no node is up there.
const [lowest, beyond] = [10_000, 20_000]
const busOffset = 10_000

/** @type {Set<number>} */
const given = new Set()

/**
 * Returns a loopback port that nothing listens on, nor on the bus port that belongs to it. It never returns the same
 * one twice; another process may still be faster, and then the caller has to ask again.
 * @returns {Promise<number>}
 */
export async function freePort() {
  for (let attempt = 0; attempt < 1000; attempt++) {
    const port = randomInt(lowest, beyond)
    if (given.has(port)) continue
    if ((await isFree(port)) && (await isFree(port + busOffset))) {
      given.add(port)
      return port
    }
  }
  throw new Error(`no free port from ${lowest} to ${beyond - 1}`)
}

/** @param {number} port */
async function isFree(port) {
  const server = createServer()
  try {
    server.listen({ port, host: '127.0.0.1', exclusive: true })
    await once(server, 'listening')
    return true
  } catch {
    return false
  } finally {
    server.close()
  }
}
