import { describe, expect, it } from 'vitest'
import { until } from '../../../../../tests/servers/until.mjs'
import { RecordingGate, startApp, startGateway, talkTo } from './gateway.suite.ts'

/** A connection of HTTP/2 that asks for /, in frames. */
const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00'
const GET_FRAME = '\x00\x00\x06\x01\x05\x00\x00\x00\x01\x82\x84\x86\x41\x01a'

describe('a client of HTTP/2 that ends its side of the connection', () => {
  it('is gone, without a word of HTTP/2 about it', async () => {
    const app = await startApp((_, response) => response.end('ok'))
    const { port, gateway } = await startGateway(app)
    const talk = talkTo(port, PREFACE + GET_FRAME)
    await until('it is answered', () => talk.text().endsWith('ok'))
    talk.socket.end()
    await until('it is forgotten', () => gateway.stats.connections === 0)
  })

  it('has its request given up at the upstream', async () => {
    const gate = new RecordingGate()
    let isGivenUp = false
    let hasCome = false
    const app = await startApp((request) => {
      hasCome = true
      request.on('close', () => (isGivenUp = true))
    })
    const { port, gateway } = await startGateway(app, { gate })
    const talk = talkTo(port, PREFACE + GET_FRAME)
    await until('it has come', () => hasCome)
    expect(gateway.connectionsUnderWay()).toMatchObject([{ version: 'HTTP/2', use: 'busy', streams: 1 }])
    talk.socket.end()
    await until('it is given up', () => isGivenUp && gateway.stats.connections === 0)
    expect(gate.ended).toEqual(['abort'])
  })
})
