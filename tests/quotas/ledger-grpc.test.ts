import { randomUUID } from 'node:crypto'
import { Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js'
import { expect, it, onTestFinished } from 'vitest'
import { customer, meter, OWNER } from '../../server/src/ledger/ledger.suite.ts'
import { codecOf } from '../../server/src/protobuf/protos.suite.ts'
import { openQuotas } from '../../server/src/quotas/open/open-quotas.ts'
import { startWith } from '../cli/sluice-process.suite.ts'
import { sharedPostgres, sharedRedis } from '../servers/shared.ts'

const LONG_MS = 240_000
const TOKEN = 'the-token-of-a-program'
const ANSWER = codecOf('sluice.v1.LedgerAnswer')
const METHODS = {
  Reserve: [codecOf('sluice.v1.ReserveRequest'), ANSWER],
  Commit: [codecOf('sluice.v1.CommitRequest'), ANSWER],
  Release: [codecOf('sluice.v1.ReleaseHoldRequest'), ANSWER],
  Balance: [codecOf('sluice.v1.BalanceRequest'), ANSWER],
  Events: [codecOf('sluice.v1.EventsRequest'), codecOf('sluice.v1.EventsResponse')],
} as const

/** Returns what calls a method with a client that is not ours; what is no answer is `CODE: message`. */
function clientOf(address: string) {
  const client = new Client(address, credentials.createInsecure())
  onTestFinished(() => client.close())
  return (method: keyof typeof METHODS, message: object, token: string | undefined = TOKEN): Promise<unknown> => {
    const [request, response] = METHODS[method]
    const metadata = new Metadata()
    if (token !== '') metadata.set('authorization', `Bearer ${token}`)
    return new Promise((resolve) => {
      client.makeUnaryRequest(
        `/sluice.v1.Ledger/${method}`,
        (object: object) => request.encode(object),
        (bytes: Buffer) => response.decode(bytes),
        message,
        metadata,
        (error: ServiceError | null, answer: unknown) => resolve(error === null ? answer : error.message),
      )
    })
  }
}

it.each([
  ['one process', '1'],
  ['workers', '2'],
])('sluice.v1.Ledger answers as the doors over HTTP do, in %s', { timeout: LONG_MS }, async (_, workers) => {
  const postgres = await sharedPostgres()
  const url = postgres.url(await postgres.createDatabase())
  const quotas = await openQuotas({ url })
  onTestFinished(() => quotas.close())
  await quotas.store.put('meters', meter('exports', { allowance: 100 }), OWNER)
  await quotas.store.put('customers', customer('acme'), OWNER)
  const env = { SLUICE_ADMIN_TOKEN: `ledger:${TOKEN},viewer:the-token-of-a-viewer` }
  const redis = ['--redis', (await sharedRedis()).url, '--key-prefix', `ledger-${randomUUID()}:`]
  const { grpc } = await startWith(env, '--database', url, '--workers', workers, ...redis)
  const call = clientOf(grpc)
  const whose = { customer: 'acme', meter: 'exports' }
  const hold = { ...whose, id: 'r1' }

  expect(await call('Reserve', { ...hold, amount: 9, holdSeconds: 60 })).toMatchObject({
    state: 'HOLD_STATE_HELD',
    amount: 9,
    expiresAtMs: expect.any(Number),
    paidFrom: { allowance: 9 },
    balance: { available: { allowance: 91 }, held: 9 },
  })
  expect(await call('Reserve', { ...hold, amount: 9, holdSeconds: 60 })).toMatchObject({ repeated: true })
  expect(await call('Reserve', { ...hold, amount: 8 })).toMatch('6 ALREADY_EXISTS: LEDGER_ID_REUSED')
  expect(await call('Commit', { ...hold, used: 7 })).toMatchObject({
    amount: 7,
    balance: { available: { allowance: 93 } },
  })
  expect(await call('Release', hold)).toMatch('9 FAILED_PRECONDITION: LEDGER_HOLD_RESOLVED')
  expect(await call('Release', { ...hold, id: 'none' })).toMatch('5 NOT_FOUND: LEDGER_HOLD_UNKNOWN')
  expect(await call('Reserve', { ...hold, id: 'r2', amount: 94 })).toMatchObject({
    shortage: { needed: 94, available: { allowance: 93 }, ranOut: ['allowance'], renewsAtMs: expect.any(Number) },
  })
  const events = [
    { ...whose, id: 'e1', amount: 3, atMs: Date.now() - 1_000 },
    { ...whose, id: 'e2', amount: 500 },
    { ...whose, id: 'e3', amount: 1, meter: 'none' },
  ]
  expect(await call('Events', { events })).toMatchObject({
    results: [
      { id: 'e1', result: 'RESULT_ACCEPTED', paidFrom: { allowance: 3 } },
      { id: 'e2', result: 'RESULT_REFUSED', code: 'LEDGER_SHORT', shortage: { needed: 500 } },
      { id: 'e3', result: 'RESULT_REFUSED', code: 'RECORD_UNKNOWN' },
    ],
  })
  expect(await call('Balance', whose)).toMatchObject({ balance: { available: { allowance: 90 } } })
  expect(await call('Balance', { ...whose, customer: 'none' })).toMatch('5 NOT_FOUND: RECORD_UNKNOWN')
  expect(await call('Reserve', { ...hold, id: 'a b', amount: 1 })).toMatch('3 INVALID_ARGUMENT: ADMIN_REQUEST_INVALID')
  expect(await call('Balance', whose, '')).toMatch('16 UNAUTHENTICATED: ADMIN_TOKEN_REQUIRED')
  expect(await call('Balance', whose, 'another-token-of-16')).toMatch('16 UNAUTHENTICATED: ADMIN_TOKEN_REQUIRED')
  expect(await call('Balance', whose, 'the-token-of-a-viewer')).toMatch('7 PERMISSION_DENIED: ROLE_INSUFFICIENT')
})
