import { Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type LedgerDoorPort, registerLedger } from '../../server/src/admin/ledger/grpc/ledger-door.ts'
import { GrpcServer } from '../../server/src/grpc/index.ts'
import { answerWithout } from '../../server/src/ledger/ledger-batch.ts'
import { codecOf } from '../../server/src/protobuf/protos.suite.ts'
import { bytesField } from '../../server/src/protobuf/writer.ts'
import { until } from '../servers/until.mjs'

const RESERVE = codecOf('sluice.v1.ReserveRequest')
const ASKED = RESERVE.encode({ customer: 'acme', meter: 'exports', id: 'r1', amount: 1 })
const event = (i: number) => ({ customer: 'acme', meter: 'exports', id: `e${i}`, amount: 1 })
const eventsOf = (count: number) =>
  codecOf('sluice.v1.EventsRequest').encode({ events: Array.from({ length: count }, (_, i) => event(i)) })

/** The door on a ledger that counts what reaches it. */
async function start(askAs?: LedgerDoorPort['askAs']) {
  let asked = 0
  const answers: LedgerDoorPort['askAs'] = async (_, all) =>
    all.map(() => answerWithout({ kind: 'released', isRepeated: false }))
  const server = new GrpcServer({ limits: { maxMessageBytes: 65_536 } })
  registerLedger(server, {
    askAs: (caller, all) => {
      asked += all.length
      return (askAs ?? answers)(caller, all)
    },
  })
  const { port } = (await server.listen({ host: '127.0.0.1', port: 0 })) as { port: number }
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure())
  onTestFinished(async () => {
    client.close()
    await server.close()
  })
  const call = (method: string, bytes: Buffer, authorization?: string): Promise<string> => {
    const metadata = new Metadata()
    if (authorization !== undefined) metadata.set('authorization', authorization)
    return new Promise((resolve) => {
      const asIs = (each: Buffer): Buffer => each
      const done = (error: ServiceError | null) => resolve(error === null ? 'ok' : error.message)
      client.makeUnaryRequest(`/sluice.v1.Ledger/${method}`, asIs, asIs, bytes, metadata, done)
    })
  }
  return { call, asked: () => asked }
}

describe('sluice.v1.Ledger', () => {
  it.each([undefined, '', 'Bearer', 'Basic eDp5', `Bearer ${'x'.repeat(1_025)}`, 'Bearer a b'])(
    'asks no one whether %j is a token',
    async (authorization) => {
      const { call, asked } = await start()
      for (let i = 0; i < 20; i++) expect(await call('Reserve', ASKED, authorization)).toMatch(/^16 UNAUTHENTICATED/)
      expect(asked()).toBe(0)
    },
  )

  it('takes a thousand events and no more, none, and no field of another kind', async () => {
    const { call, asked } = await start()
    const token = 'Bearer a-token'
    expect(await call('Events', eventsOf(1_000), token)).toBe('ok')
    expect(asked()).toBe(1_000)
    expect(await call('Events', eventsOf(1_001), token)).toMatch('3 INVALID_ARGUMENT: more than 1000 events')
    expect(await call('Events', Buffer.alloc(0), token)).toMatch('3 INVALID_ARGUMENT')
    expect(await call('Events', Buffer.alloc(60_000, 0x08), token)).toMatch('3 INVALID_ARGUMENT')
    expect(await call('Reserve', Buffer.from([0x0a, 0xff, 0xff]), token)).toMatch('3 INVALID_ARGUMENT')
    const huge = Buffer.from(bytesField(1, Buffer.alloc(70_000)))
    expect(await call('Reserve', huge, token)).toMatch('8 RESOURCE_EXHAUSTED')
    expect(asked()).toBe(1_000)
  })

  it.each([
    ['no amount', { amount: 0 }],
    ['more than is exact', { amount: 2 ** 60 }],
    ['a long id', { id: 'x'.repeat(129) }],
    ['a line break', { id: 'a\nb' }],
    ['a customer of nothing', { customer: '' }],
    ['a hold of a year', { holdSeconds: 366 * 86_400 }],
  ])('refuses %s', async (_, wrong) => {
    const { call, asked } = await start()
    const bytes = RESERVE.encode({ customer: 'acme', meter: 'exports', id: 'r1', amount: 1, ...wrong })
    expect(await call('Reserve', bytes, 'Bearer a-token')).toMatch('3 INVALID_ARGUMENT: ADMIN_REQUEST_INVALID')
    expect(asked()).toBe(0)
  })

  it('holds no more calls than a thousand on a connection while the ledger says nothing', async () => {
    let open = (): void => {}
    const opened = new Promise<void>((resolve) => {
      open = resolve
    })
    const { call, asked } = await start(async (_, all) => {
      await opened
      return all.map(() => answerWithout({ kind: 'released', isRepeated: false }))
    })
    const calls = Array.from({ length: 1_500 }, () => call('Reserve', ASKED, 'Bearer a-token'))
    await until('the connection is full', () => asked() >= 1_000)
    expect(asked()).toBeLessThanOrEqual(1_024)
    open()
    expect(new Set(await Promise.all(calls))).toEqual(new Set(['ok']))
  })
})
