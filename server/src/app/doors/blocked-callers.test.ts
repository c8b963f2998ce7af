import { loadRules } from 'sluice/internal/core/rules/load'
import { afterEach, describe, expect, it } from 'vitest'
import { grpcClient, limiterCheck, rlsRequest, shouldRateLimit } from '../../../../tests/process/grpc-load.suite.ts'
import { QuotaBook } from '../../quotas/book/quota-book.ts'
import { block, customer, grant, hash, ofCustomer } from '../../quotas/book/records.suite.ts'
import { logTo } from '../log/log.ts'
import { readConfig } from '../settings/config.ts'
import { type Doors, openDoors } from './doors.ts'

const RULES = `
domain: api
tiers: {free: {rate_limit: {name: free, unit: day, requests_per_unit: 1}}}
descriptors:
  - {key: user, tiered: true, rate_limit: {unit: day, requests_per_unit: 5}}
`
const BODY = JSON.stringify({ domain: 'api', descriptors: [{ entries: [{ key: 'user', value: 'alice' }] }] })
const headers = { connection: 'close', 'content-type': 'application/json' }
const HERE = { host: '127.0.0.1', port: 0 }

let doors: Doors | undefined
afterEach(() => doors?.close())

async function open(reason: string | undefined, args: string[] = []) {
  const rules = loadRules([{ file: 'api.yaml', text: RULES }])
  const config = readConfig(['--customer-entries', 'user', ...args], {})
  const book = new QuotaBook({ hash, entries: config.callerEntries })
  book.put('customers', 'alice', customer('alice', { tier: 'free' }))
  book.put('blocks', 'b-1', block('b-1', ofCustomer('alice'), { reason, status: 451, body: '{"sorry":true}' }))
  doors = openDoors(
    config,
    () => rules,
    logTo(() => {}),
    { quotas: () => book },
  )
  const url = `http://${await doors.all.http.listen(HERE)}`
  const post = async (path: string, body = BODY) => {
    const response = await fetch(url + path, { method: 'POST', body, headers })
    return { status: response.status, body: JSON.parse(await response.text()) }
  }
  return { book, doors, post }
}

describe('a caller who is blocked', () => {
  it.each(['/v1/check', '/v1/acquire'])('gets the status and the body of the block from %s', async (path) => {
    const { post, book } = await open('card testing')
    expect(await post(path)).toMatchObject({
      status: 451,
      body: {
        allowed: false,
        rule: 'blocked',
        reason: 'blocked: card testing',
        response: { status: 451, body: '{"sorry":true}' },
        verdicts: [{ kind: 'impossible', block: { id: 'b-1', reason: 'card testing' } }],
      },
    })
    book.put('blocks', 'b-1', undefined)
    expect((await post('/v1/check')).body).toMatchObject({ allowed: true, verdicts: [{ rule: 'free', remaining: 0 }] })
  })

  it('gets the body of the block in the answer to Envoy, and the reason for its other filters', async () => {
    const { post } = await open('card testing', ['--dynamic-metadata'])
    const { body } = await post('/json')
    expect(body).toMatchObject({
      overallCode: 'OVER_LIMIT',
      statuses: [{ code: 'OVER_LIMIT', currentLimit: { name: 'blocked' } }],
      rawBody: Buffer.from('{"sorry":true}').toString('base64'),
      dynamicMetadata: { block: { id: 'b-1', reason: 'card testing' } },
    })
  })

  it('is refused over gRPC', async () => {
    const { doors: own } = await open(undefined)
    const client = grpcClient(await own.all.grpc.listen(HERE))
    const answer = await shouldRateLimit(client, rlsRequest('api', 'alice'))
    expect([answer.subarray(0, 2), answer.includes('blocked')]).toEqual([Buffer.of(0x08, 2), true])
    expect((await limiterCheck(client, 'api', 'alice')).includes('the caller is blocked')).toBe(true)
    client.close()
  })

  it('uses a grant when the limit has nothing left, and the answer shows it', async () => {
    const { post, book } = await open(undefined)
    book.put('blocks', 'b-1', undefined)
    book.put('grants', 'g-1', grant('g-1', 'alice', 2))
    await post('/v1/check')
    expect((await post('/v1/check')).body).toMatchObject({ allowed: true, rule: 'grant', verdicts: [{ grant: 'g-1' }] })
  })
})
