import { once } from 'node:events'
import http2 from 'node:http2'
import * as grpc from '@grpc/grpc-js'
import { GrpcServer } from '../../server/dist/grpc/index.js'
import { ANSWER, HOLD, METHOD } from './wire.mjs'

/**
 * Each contestant answers METHOD with ANSWER, and never answers HOLD. It does nothing else: no decoding, no decision.
 * They are used as their documentation says. Each returns the port that it listens on.
 */
export const contestants = { sluice, 'grpc-js': grpcJs, 'node:http2': nodeHttp2 }

const identity = (bytes) => bytes

async function grpcJs() {
  const server = new grpc.Server()
  const unary = (path) => ({
    path,
    requestStream: false,
    responseStream: false,
    requestSerialize: identity,
    requestDeserialize: identity,
    responseSerialize: identity,
    responseDeserialize: identity,
  })
  server.addService(
    { ShouldRateLimit: unary(METHOD), Hold: unary(HOLD) },
    { ShouldRateLimit: (_call, callback) => callback(null, ANSWER), Hold: () => {} },
  )
  const { promise, resolve, reject } = withResolvers()
  server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, port) =>
    error ? reject(error) : resolve(port),
  )
  return promise
}

function withResolvers() {
  const resolvers = {}
  resolvers.promise = new Promise((resolve, reject) => Object.assign(resolvers, { resolve, reject }))
  return resolvers
}

async function nodeHttp2() {
  const message = Buffer.concat([Buffer.of(0, 0, 0, 0, ANSWER.length), ANSWER])
  const server = http2.createServer({ settings: { maxConcurrentStreams: 2 ** 31 - 1 } })
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {})
    stream.resume()
    if (headers[':path'] === HOLD) return
    stream.on('end', () => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
      stream.end(message)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server.address().port
}

async function sluice() {
  const server = new GrpcServer()
    .unary(METHOD, (call) => {
      call.respond(ANSWER)
    })
    .unary(HOLD, () => {})
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 })
  return port
}
