import { readFileSync } from 'node:fs'
import { RespClient } from '../../dist/stores/redis/resp/resp-client.js'
import { GrpcServer } from '../../server/dist/grpc/index.js'
import { ANSWER, METHOD } from '../grpc/wire.mjs'
import { WINDOW_MS } from './callers.mjs'

// A service that decides nothing: for each call over gRPC a bare EVALSHA, and an answer that is always the same. It
// reads no rules and no descriptors; the message itself is the counter's key. It prints its port.

const UNAVAILABLE = 14
const [host, port] = process.argv.slice(2)
const redis = await RespClient.open({ at: { host, port: Number(port) }, tls: false })
const sha = String(await redis.call(['SCRIPT', 'LOAD', readFileSync(new URL('../count.lua', import.meta.url), 'utf8')]))

const server = new GrpcServer().unary(METHOD, (call) => {
  const key = Buffer.from(call.message).toString('latin1')
  redis.ask(['EVALSHA', sha, '1', key, '1', WINDOW_MS], {
    answered: () => call.respond(ANSWER),
    failed: () => call.fail(UNAVAILABLE),
  })
})
const { port: listening } = await server.listen({ host: '127.0.0.1', port: 0 })
console.log(listening)
