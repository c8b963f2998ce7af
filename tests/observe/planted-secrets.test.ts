import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startRulesServer, status, text } from '../../server/src/sources/url/rules-server.suite.ts'
import { startWith } from '../cli/sluice-process.suite.ts'
import { startRedis } from '../servers/redis.mjs'
import { until } from '../servers/until.mjs'
import { startReceiver } from './otlp-receiver.suite.ts'
import { OUTPUTS, type Watched } from './outputs.suite.ts'
import { callsTo } from './service-calls.suite.ts'

/** What must not come out, in no spelling: keys of callers, and what operators give the service. */
const PLANTED = {
  apiKey: `sk_live_${randomBytes(12).toString('hex')}`,
  refusedKey: `sk_live_${randomBytes(12).toString('hex')}`,
  fixedKey: `sk_live_${randomBytes(12).toString('hex')}`,
  unmatchedKey: `sk_live_${randomBytes(12).toString('hex')}`,
  token: randomBytes(24).toString('hex'),
  redisPassword: randomBytes(12).toString('hex'),
  secret: randomBytes(24).toString('hex'),
  collectorKey: randomBytes(24).toString('hex'),
  rulesToken: randomBytes(24).toString('hex'),
  rulesPassword: randomBytes(12).toString('hex'),
  rulesSignature: randomBytes(24).toString('hex'),
}

const RULES = `
domain: d
descriptors:
  - key: api_key
    secret: true
    detailed_metric: true
    rate_limit: { unit: day, requests_per_unit: 3, algorithm: fixed_window }
    descriptors:
      - key: endpoint
        rate_limit: { unit: day, requests_per_unit: 2, algorithm: fixed_window }
  - key: api_key
    value: ${PLANTED.fixedKey}
    secret: true
    rate_limit: { unit: day, requests_per_unit: 0 }
  - key: user
    shadow_mode: true
    rate_limit: { unit: day, requests_per_unit: 0 }
    descriptors:
      - key: api_key
        secret: true
        rate_limit: { unit: day, requests_per_unit: 1, algorithm: fixed_window }
`

const entry = (key: string, value: string) => ({ key, value })
const ask = (...entries: { key: string; value: string }[]) => ({ domain: 'd', descriptors: [{ entries }] })

/** A service of two workers that writes, sends and counts all it can. */
async function started() {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-planted-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  writeFileSync(join(dir, 'd.yaml'), RULES)
  const redis = await startRedis({ password: PLANTED.redisPassword })
  onTestFinished(() => redis.stop())
  const receiver = await startReceiver()
  const decisionLog = join(dir, 'decisions.log')
  const elsewhere = await rulesOnce()
  const service = await startWith(
    {
      REDIS_URL: redis.url,
      SLUICE_SECRET: PLANTED.secret,
      SLUICE_TOKEN: PLANTED.token,
      LOG_LEVEL: 'debug',
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_HEADERS: `x-key=${PLANTED.collectorKey}`,
      OTEL_BSP_SCHEDULE_DELAY: '20',
      SLUICE_DECISION_LOG: decisionLog,
      SLUICE_DECISION_LOG_SHARE: '1',
      SLUICE_RULES_TOKEN: PLANTED.rulesToken,
      SLUICE_RULES: `${join(dir, 'd.yaml')},${elsewhere}`,
    },
    ...['--rules-poll', '1s', '--workers', '2', '--dynamic-metadata', '--response-headers'],
  )
  const stored = async (): Promise<string> => {
    return JSON.stringify(await redis.call('KEYS', '*'))
  }
  return { service, decisionLog, spans: receiver.bodies, received: receiver.spans, stored }
}

/** An address that has rules for the start, and is away from then on. */
async function rulesOnce(): Promise<string> {
  const server = await startRulesServer((request, response) => {
    text('domain: far\ndescriptors: []\n')(request, response)
    server.answer(status(302, { location: `http://u:${PLANTED.rulesPassword}@[/?s=${PLANTED.rulesSignature}` }))
  })
  return `http://u:${PLANTED.rulesPassword}@${server.url.host}/r?X-Amz-Signature=${PLANTED.rulesSignature}`
}

/** Asks over all doors, in all ways that somebody might: right, refused, malformed, as a stranger. */
async function traffic(service: Watched['service']): Promise<string[]> {
  const { call, post } = callsTo(service)
  const own = { authorization: `Bearer ${PLANTED.token}` }
  const answers: string[] = []
  const asks = [
    ask(entry('api_key', PLANTED.apiKey)),
    ask(entry('api_key', PLANTED.refusedKey), entry('endpoint', '/v1')),
    ask(entry('api_key', PLANTED.fixedKey)),
    ask(entry('user', 'alice'), entry('api_key', PLANTED.apiKey)),
    ask(entry('other', 'a'), entry('api_key', PLANTED.unmatchedKey)),
    { ...ask(entry('api_key', PLANTED.apiKey)), domain: 'elsewhere' },
  ]
  for (const each of asks) {
    for (let i = 0; i < 4; i++) {
      answers.push(await call('envoy', each, own))
      answers.push(await call('check', { requests: [each] }, own))
      answers.push(await call('acquire', { request: each }, own))
      for (const path of ['/v1/check', '/v1/acquire', '/json']) {
        answers.push(await post(path, JSON.stringify(each), { ...own, connection: 'close' }))
      }
    }
    const limit = { requestsPerUnit: 1, unit: 'MINUTE' }
    answers.push(await call('envoy', { ...each, descriptors: [{ ...each.descriptors[0], limit }] }, own))
    answers.push(await post('/v1/check', JSON.stringify({ ...each, cost: 1e12 }), own))
    answers.push(await post('/v1/check', JSON.stringify({ ...each, cost: PLANTED.apiKey }), own))
  }
  const text = JSON.stringify(asks[0])
  for (const path of ['/v1/check', '/v1/acquire', '/json', '/v1/renew', '/v1/release']) {
    const malformed = [text.slice(0, -1), `${text},`, text.replace('"entries"', PLANTED.apiKey), PLANTED.apiKey]
    const wrong = [
      JSON.stringify({ lease: PLANTED.apiKey }),
      JSON.stringify({ domain: 'd', descriptors: [{ entries: PLANTED.apiKey }] }),
      JSON.stringify({ domain: 'd', descriptors: [{ entries: [{ key: 'api_key', value: [PLANTED.apiKey] }] }] }),
    ]
    for (const body of [...malformed, ...wrong]) answers.push(await post(path, body, own))
    answers.push(await post(path, text, { authorization: `Bearer ${PLANTED.apiKey}` }))
  }
  answers.push(await post(`/v1/no-such-path?key=${PLANTED.apiKey}`, text, own))
  const bytes = Buffer.from(text)
  for (const method of ['envoy', 'check', 'acquire'] as const) {
    answers.push(await call(method, bytes, own))
    answers.push(await call(method, asks[0], { authorization: PLANTED.apiKey }))
    answers.push(await call(method, {}, { ...own, traceparent: PLANTED.apiKey, 'x-api-key': PLANTED.apiKey }))
  }
  return answers
}

describe('secrets', () => {
  it('appear in no output of the service, whatever callers do with them', async () => {
    const { received, ...watched } = await started()
    const answers = await traffic(watched.service)
    // Lines come every tenth of a second, from two processes: those of the last requests are the last.
    const lines = () => readFileSync(watched.decisionLog, 'utf8').trimEnd().split('\n')
    await until('decisions of all doors are logged', () => {
      const doors = new Set(lines().map((line) => (JSON.parse(line) as { door: string }).door))
      return doors.size === 3 && received.length >= 100
    })
    const all = { ...watched, answers }
    const outputs = await Promise.all(OUTPUTS.map(async ([name, read]) => [name, await read(all)] as const))
    for (const [i, [name, text]] of outputs.entries()) expect(text, name).toContain(OUTPUTS[i][2])
    const found = outputs.flatMap(([name, text]) =>
      Object.entries(PLANTED)
        .filter(([, secret]) => spellingsOf(secret).some((encoded) => text.includes(encoded)))
        .map(([which]) => `${which} in ${name}`),
    )
    expect(found).toEqual([])
    watched.service.child.kill('SIGTERM')
    const output = await watched.service.output
    for (const [which, secret] of Object.entries(PLANTED)) expect(output, which).not.toContain(secret)
  })
})

/** spellingsOf are ways to say a text: as it is, all of it but a short beginning, encoded. */
function spellingsOf(text: string): string[] {
  return [text.slice(6), Buffer.from(text).toString('base64').slice(0, -4), Buffer.from(text).toString('hex')]
}
