import { once } from 'node:events'
import { expect, it } from 'vitest'
import { ruleFile } from '../cli/nodes.suite.ts'
import { kill, type Started, startWith } from '../cli/sluice-process.suite.ts'
import { freePort } from '../servers/ports.mjs'
import { until } from '../servers/until.mjs'

const LIMIT = 20
const RULES = `
domain: shop
descriptors:
  - key: user
    rate_limit: { unit: day, requests_per_unit: ${LIMIT}, on_store_failure: closed, timeout_ms: 60000 }
  - key: job
    rate_limit: { algorithm: concurrency, requests_per_unit: 1, on_store_failure: closed, timeout_ms: 60000 }
`
const CALLERS = Array.from({ length: 30 }, (_, i) => `caller ${i}`)
const SECRET = { SLUICE_SECRET: 'a secret of these nodes' }

/** Asks a node about a hit of a caller. */
async function check({ url }: Started, user: string) {
  const body = JSON.stringify({ domain: 'shop', descriptors: [{ entries: [{ key: 'user', value: user }] }] })
  const response = await fetch(`${url}/v1/check`, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json' },
  })
  await response.arrayBuffer()
  return { isAdmitted: response.status === 200, fallback: response.headers.get('sluice-fallback') ?? undefined }
}

/** Posts what is about a place of a concurrency rule. */
async function post({ url }: Started, path: string, body: object) {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body), headers })
  const text = await response.text()
  return { status: response.status, ...(text === '' ? {} : (JSON.parse(text) as { lease?: string })) }
}

async function metric({ admin }: Started, name: string): Promise<number> {
  const text = await (await fetch(`${admin}/metrics`)).text()
  return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? ([0-9.e+]+)$`, 'm').exec(text)?.[1])
}

const sum = (counts: readonly number[]): number => counts.reduce((all, count) => all + count, 0)

it('services keep counters together: over a drain not one more is admitted, and a crash takes its own along', async () => {
  const rules = ruleFile(RULES)
  const ports = [await freePort(), await freePort(), await freePort()]
  const list = ports.map((port) => `127.0.0.1:${port}`).join()
  const begin = (port: number) =>
    startWith(SECRET, '--rules', rules, '--host', '127.0.0.1', '--grpc-port', String(port), '--peers', list)
  const nodes = await Promise.all(ports.map(begin))
  await until('every partition is somewhere', async () => {
    const held = await Promise.all(nodes.map((node) => metric(node, 'ratelimit_peers_partitions_held')))
    return sum(held) === 256 && held.every((count) => count > 0)
  })

  const admitted = new Map(CALLERS.map((caller) => [caller, 0]))
  const ask = async (at: readonly Started[], hits: number): Promise<void> => {
    for (const caller of CALLERS) {
      for (let i = 0; i < hits; i++) {
        const { isAdmitted } = await check(at[i % at.length] as Started, caller)
        if (isAdmitted) admitted.set(caller, (admitted.get(caller) ?? 0) + 1)
      }
    }
  }
  await ask(nodes, 12)
  expect(new Set(admitted.values())).toEqual(new Set([12]))

  const job = { domain: 'shop', descriptors: [{ entries: [{ key: 'job', value: 'a' }] }] }
  const [one, other] = nodes as [Started, Started]
  const { lease } = await post(one, '/v1/acquire', job)
  expect((await post(other, '/v1/acquire', job)).status).toBe(429)
  await post(other, '/v1/release', { lease })
  expect((await post(other, '/v1/acquire', job)).status).toBe(200)

  const [drained, crashed, last] = nodes as [Started, Started, Started]
  const ended = once(drained.child, 'exit')
  drained.child.kill('SIGTERM')
  await ended
  await until('its counters are elsewhere', async () => {
    const held = await Promise.all([crashed, last].map((node) => metric(node, 'ratelimit_peers_partitions_held')))
    return sum(held) === 256
  })
  await ask([crashed, last], LIMIT)
  expect(new Set(admitted.values())).toEqual(new Set([LIMIT]))
  expect(await metric(last, 'ratelimit_peers_partitions_lost_total')).toBe(0)

  await kill(crashed.child)
  await until('it is missed', async () => (await metric(last, 'ratelimit_peers_reachable')) === 0)
  const answers = await Promise.all(CALLERS.map((caller) => check(last, caller)))
  expect(answers.filter(({ isAdmitted }) => isAdmitted)).toEqual([])
  const without = answers.filter(({ fallback }) => fallback === 'closed').length
  expect(without).toBeGreaterThan(0)
  expect(without).toBeLessThan(CALLERS.length)

  const anew = await begin(ports[1] as number)
  await until('every partition is somewhere', async () => {
    const held = await Promise.all([last, anew].map((node) => metric(node, 'ratelimit_peers_partitions_held')))
    return sum(held) === 256
  })
  await until('the loss is seen', async () => (await metric(last, 'ratelimit_peers_partitions_lost_total')) > 0)
  for (const [i, { fallback }] of answers.entries()) {
    const caller = CALLERS[i] as string
    if (fallback === undefined) expect((await check(last, caller)).isAdmitted).toBe(false)
    else await until('it begins again', async () => (await check(last, caller)).isAdmitted)
  }
})
