import { expect, it } from 'vitest'
import { createLedgerClient, type LedgerClientOptions } from './index.ts'

const ASKED = { customer: 'acme', meter: 'exports', amount: 5 }
const PAID = { allowance: 5, grants: 0, credits: 0, overdraft: 0, unpaid: 0 }
const HELD = { id: 'r', amount: 5, state: 'held', expires_at: null, paid_from: PAID, repeated: false }

type Answer = readonly [status: number, body?: object] | Error

/** A client of a service that answers so, one after the other, and what it was asked. */
function scene(answers: readonly Answer[], more: Partial<LedgerClientOptions> = {}) {
  const asked: { readonly path: string; readonly body: Record<string, unknown>; readonly token: string | null }[] = []
  const fetch = async (url: URL | RequestInfo, init: RequestInit = {}): Promise<Response> => {
    const answer = answers[asked.length]
    const token = new Headers(init.headers).get('authorization')
    asked.push({ path: String(url), body: JSON.parse(String(init.body ?? '{}')), token })
    if (answer instanceof Error) throw answer
    const [status, body] = answer
    return new Response(body === undefined ? 'not JSON' : JSON.stringify(body), { status })
  }
  return { client: createLedgerClient({ url: 'http://localhost:8082', token: 't', fetch, ...more }), asked }
}

it('sends again what was not answered, with the same id, and no token in the address', async () => {
  const { client, asked } = scene([new TypeError('fetch failed'), [503, { code: 'LEDGER_BUSY' }], [200, HELD]])
  expect((await client.reserve(ASKED)).paid).toBe(true)
  const ids = asked.map(({ body }) => body.id)
  expect([ids.length, new Set(ids).size, typeof ids[0]]).toEqual([3, 1, 'string'])
  expect(asked[0]).toMatchObject({ path: 'http://localhost:8082/v1/ledger/reserve', token: 'Bearer t' })
})

it('sends again what is in flight, and nothing that is wrong', async () => {
  const again = scene([
    [409, { code: 'IDEMPOTENCY_IN_PROGRESS' }],
    [200, HELD],
  ])
  await again.client.reserve(ASKED)
  expect(again.asked).toHaveLength(2)
  const wrong = scene([[409, { code: 'LEDGER_HOLD_RESOLVED', detail: 'it was released' }]])
  await expect(wrong.client.commit({ ...ASKED, id: 'r' }, 1)).rejects.toMatchObject({
    ...{ name: 'LedgerError', status: 409, code: 'LEDGER_HOLD_RESOLVED', message: 'it was released' },
  })
  expect(wrong.asked).toHaveLength(1)
})

it('says that nothing answers when it has asked often enough', async () => {
  const { client, asked } = scene([new TypeError('a'), new TypeError('b'), new TypeError('c')])
  await expect(client.release({ ...ASKED, id: 'r' })).rejects.toMatchObject({ name: 'LedgerError', status: undefined })
  expect(asked).toHaveLength(3)
  const none = scene([[502]], { retries: 0 })
  await expect(none.client.balance(ASKED)).rejects.toMatchObject({ status: 502, message: 'the service answered 502' })
})

it('releases what work has not used because it threw, and throws that', async () => {
  const { client, asked } = scene([[200, HELD], [500], [500], [500]])
  await expect(client.hold(ASKED, () => Promise.reject(new Error('no paper')))).rejects.toThrow('no paper')
  expect(asked.slice(1).map(({ path }) => path.split('/').at(-1))).toEqual(['release', 'release', 'release'])
})

it('commits all of a hold, unless the work says otherwise', async () => {
  const settled = { id: 'r', used: 5, paid_from: PAID, repeated: false }
  const { client, asked } = scene([
    [200, HELD],
    [200, settled],
    [200, HELD],
    [200, settled],
  ])
  expect(await client.hold({ ...ASKED, id: 'r' }, () => 'done')).toBe('done')
  await client.hold({ ...ASKED, id: 'r' }, (hold) => {
    hold.used = 0
  })
  expect([asked[1].body.used, asked[3].body.used]).toEqual([5, 0])
})

it.each([
  [{ url: 'http://a', token: 't', deadlineMs: 0 }, 'deadlineMs must be above 0'],
  [{ url: 'http://a', token: 't', retries: -1 }, 'retries must be a number of 0 or more'],
  [{ url: 'http://a' }, 'token is missing'],
  [{ url: 'http://a', token: 't', meter: 'm' }, 'meter'],
])('refuses options such as %o', (options, message) => {
  expect(() => createLedgerClient(options as LedgerClientOptions)).toThrow(message)
})
