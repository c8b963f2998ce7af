import { connect } from 'node:http2'
import { expect, it, onTestFinished } from 'vitest'
import { GrpcServer } from '../../server/src/grpc/index.ts'
import { MessageWriter } from '../../server/src/peers/binary.ts'
import { PeerCluster } from '../../server/src/peers/peer-cluster.ts'
import { peerToken, registerPeers } from '../../server/src/peers/peer-door.ts'
import { PEER_FIELD, PEER_METHODS, PeerLink } from '../../server/src/peers/peer-link.ts'
import { PeersStore } from '../../server/src/peers/peers-store.ts'
import { sharedHash } from '../../src/engine/shared-hash.ts'

const TOKEN = peerToken('secret')

async function victim() {
  const server = new GrpcServer()
  const { port } = (await server.listen({ host: '127.0.0.1', port: 0 })) as { port: number }
  const partitions = { hash: sharedHash('secret'), maxKeys: 1_000 }
  const cluster = new PeerCluster({ token: TOKEN, partitions, discover: async () => [] })
  registerPeers(server, cluster, new PeersStore(cluster), TOKEN)
  onTestFinished(async () => {
    cluster.close()
    await server.close()
  })
  return { port, cluster }
}

/** Calls a method with a field of choice, and returns the status. */
function statusOf(port: number, path: string, field: string | undefined, message: Uint8Array): Promise<string> {
  const session = connect(`http://127.0.0.1:${port}`)
  onTestFinished(() => session.destroy())
  const head = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' }
  const stream = session.request(field === undefined ? head : { ...head, [PEER_FIELD]: field })
  const prefix = Buffer.alloc(5)
  prefix.writeUInt32BE(message.length, 1)
  stream.end(Buffer.concat([prefix, message]))
  return new Promise((resolve, reject) => {
    const seen = (fields: Record<string, unknown>): void => {
      if (fields['grpc-status'] !== undefined) resolve(String(fields['grpc-status']))
    }
    stream.on('response', seen)
    stream.on('trailers', seen)
    stream.on('error', reject)
    stream.resume()
  })
}

const PERMISSION_DENIED = '7'
const INVALID_ARGUMENT = '3'

it.each(Object.values(PEER_METHODS))('%s is for nodes with the secret, whatever others send', async (path) => {
  const { port, cluster } = await victim()
  for (const field of [undefined, '', 'x', peerToken('other'), `${TOKEN}x`, TOKEN.slice(1)]) {
    expect(await statusOf(port, path, field, Buffer.alloc(300, '1'))).toBe(PERMISSION_DENIED)
  }
  expect(cluster.stats).toMatchObject({ peers: 0, partitionsReceived: 0 })
})

it.each(Object.values(PEER_METHODS))('%s refuses what makes no sense', async (path) => {
  const { port, cluster } = await victim()
  for (const message of [Buffer.alloc(0), Buffer.alloc(1), Buffer.alloc(40, 0xff), Buffer.alloc(4_000, 0x31)]) {
    expect(await statusOf(port, path, TOKEN, message)).toBe(INVALID_ARGUMENT)
  }
  expect(cluster.stats).toMatchObject({ peers: 0, partitionsReceived: 0 })
})

it('partitions that are never completed take a bounded part of the memory', async () => {
  const { port } = await victim()
  const link = new PeerLink(`127.0.0.1:${port}`, TOKEN)
  onTestFinished(() => link.close())
  const part = new MessageWriter()
  part.text('node:1')
  part.short(1)
  part.byte(0)
  part.raw(Buffer.alloc(32 * 1_024))
  let sent = 0
  const send = async (): Promise<boolean> =>
    link.call(PEER_METHODS.give, part.bytes, 60_000).then(
      () => true,
      () => false,
    )
  while (await send()) sent++
  expect(sent).toBe(64 * 32)
  // What was refused is forgotten, with all that came before.
  expect(await send()).toBe(true)
})
