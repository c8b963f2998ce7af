import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import grpc from '@grpc/grpc-js'
import { freePort } from '../tests/servers/ports.mjs'
import { reapAtExit } from '../tests/servers/reaper.mjs'
import { until } from '../tests/servers/until.mjs'
import { count, header, table } from './report.mjs'

// npm run bench -- peers [--seconds N] [--gubernator PATH]: three nodes on loopback keep counters together, and one
// client asks all of them, in turn, about callers whose counters are anywhere. It prints decisions a second, the times
// of answers and the processor time of the nodes, and fails when a caller was admitted more than its limit. With the
// path of a gubernator, three of its nodes do the same, in turns with ours.

const option = (name, otherwise) => {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? otherwise : process.argv[at + 1]
}
const SECONDS = Number(option('seconds', '10'))
const GUBERNATOR = option('gubernator', undefined)
const NODES = 3
const IN_FLIGHT = 64
const CALLERS = 1_000
const LIMIT = 1_000
const WARM_UP_MS = 1_500
const MAIN = fileURLToPath(new URL('../server/bin/sluice.mjs', import.meta.url))

if (GUBERNATOR !== undefined && !existsSync(GUBERNATOR)) {
  console.error(`--gubernator: there is no ${GUBERNATOR}`)
  process.exit(2)
}

// --- messages, written by hand: both clients cost the same ---

const tag = (field, type) => (field << 3) | type
const varint = (value) => {
  const bytes = []
  for (let rest = BigInt(value); ; rest >>= 7n) {
    if (rest < 128n) return Buffer.from([...bytes, Number(rest)])
    bytes.push(Number(rest & 127n) | 128)
  }
}
const text = (field, value) => {
  const bytes = Buffer.from(value)
  return Buffer.concat([Buffer.of(tag(field, 2)), varint(bytes.length), bytes])
}
const message = (field, bytes) => Buffer.concat([Buffer.of(tag(field, 2)), varint(bytes.length), bytes])
const number = (field, value) => Buffer.concat([Buffer.of(tag(field, 0)), varint(value)])

/** Reads the fields of a message: numbers, and bytes. */
function fieldsOf(bytes) {
  const fields = new Map()
  for (let at = 0; at < bytes.length; ) {
    const read = () => {
      let value = 0
      for (let shift = 1; ; shift *= 128) {
        const byte = bytes[at++]
        value += (byte & 127) * shift
        if (byte < 128) return value
      }
    }
    const key = read()
    if ((key & 7) === 0) fields.set(key >> 3, read())
    else {
      const length = read()
      fields.set(key >> 3, bytes.subarray(at, at + length))
      at += length
    }
  }
  return fields
}

/** envoy.service.ratelimit.v3.RateLimitService: domain 1, descriptors 2 { entries 1 { key 1, value 2 } }. */
const SLUICE = {
  method: '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit',
  encode: (caller) => {
    const entry = Buffer.concat([text(1, 'user'), text(2, caller)])
    return Buffer.concat([text(1, 'bench'), message(2, message(1, entry))])
  },
  // overall_code 1: OK is 1, OVER_LIMIT 2.
  isAdmitted: (answer) => fieldsOf(answer).get(1) === 1,
}

/** pb.gubernator.V1: requests 1 { name 1, unique_key 2, hits 3, limit 4, duration 5, algorithm 6 }. */
const PEER = {
  method: '/pb.gubernator.V1/GetRateLimits',
  encode: (caller) => {
    const fields = [text(1, 'bench'), text(2, caller), number(3, 1), number(4, LIMIT), number(5, 86_400_000)]
    return message(1, Buffer.concat(fields))
  },
  // responses 1 { status 1: UNDER_LIMIT is 0, error 5 }.
  isAdmitted: (answer) => {
    const response = fieldsOf(fieldsOf(answer).get(1) ?? Buffer.alloc(0))
    if (response.has(5)) throw new Error(String(response.get(5)))
    return (response.get(1) ?? 0) === 0
  },
}

// --- nodes ---

const dir = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
process.once('exit', () => rmSync(dir, { recursive: true }))

async function startNode(command, args, env) {
  const child = spawn(command, args, { env: { PATH: process.env.PATH, ...env }, stdio: 'ignore' })
  reapAtExit(child)
  return child
}

async function startSluice() {
  const rules = join(dir, 'rules.yaml')
  const rate = `{ unit: day, requests_per_unit: ${LIMIT}, algorithm: token_bucket, on_store_failure: closed }`
  writeFileSync(rules, `domain: bench\ndescriptors:\n  - { key: user, rate_limit: ${rate} }\n`)
  const ports = await Promise.all(Array.from({ length: NODES }, freePort))
  const peers = ports.map((port) => `127.0.0.1:${port}`).join()
  const children = await Promise.all(
    ports.map((port) => {
      const own = ['--host', '127.0.0.1', '--grpc-port', String(port), '--http-port', '0', '--admin-port', '0']
      return startNode(process.execPath, [MAIN, 'serve', '--rules', rules, '--peers', peers, ...own], {
        SLUICE_SECRET: 'bench',
        LOG_LEVEL: 'error',
      })
    }),
  )
  return { ports, children, ...SLUICE }
}

async function startGubernator() {
  const ports = await Promise.all(Array.from({ length: NODES }, freePort))
  const http = await Promise.all(Array.from({ length: NODES }, freePort))
  const addresses = ports.map((port) => `127.0.0.1:${port}`)
  const gossip = await Promise.all(Array.from({ length: NODES }, freePort))
  const children = await Promise.all(
    addresses.map((address, i) =>
      startNode(GUBERNATOR, [], {
        GUBER_GRPC_ADDRESS: address,
        GUBER_HTTP_ADDRESS: `127.0.0.1:${http[i]}`,
        GUBER_ADVERTISE_ADDRESS: address,
        GUBER_PEER_DISCOVERY_TYPE: 'member-list',
        GUBER_MEMBERLIST_ADDRESS: `127.0.0.1:${gossip[i]}`,
        GUBER_MEMBERLIST_KNOWN_NODES: gossip.map((port) => `127.0.0.1:${port}`).join(),
        GUBER_LOG_LEVEL: 'error',
      }),
    ),
  )
  return { ports, children, ...PEER }
}

// --- the load ---

const identity = (bytes) => bytes

function clientOf(port, { method }) {
  const client = new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure())
  const ask = (bytes) =>
    new Promise((resolve, reject) => {
      client.makeUnaryRequest(method, identity, identity, bytes, (error, answer) =>
        error ? reject(error) : resolve(answer),
      )
    })
  return { ask, close: () => client.close() }
}

const { readFileSync } = await import('node:fs')
/** Returns the processor time of processes in ms. */
function cpuMs(children) {
  let ticks = 0
  for (const { pid } of children) {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
    ticks += Number(fields[11]) + Number(fields[12])
  }
  return 10 * ticks
}

async function measure(start) {
  const nodes = await start()
  const clients = nodes.ports.map((port) => clientOf(port, nodes))
  const prefix = Math.random().toString(36).slice(2)
  const requests = Array.from({ length: CALLERS }, (_, i) => nodes.encode(`${prefix}${i}`))
  for (const client of clients) {
    await until('the nodes know each other', async () => {
      // About callers of every node: each answers when it is there.
      const probes = Array.from({ length: 30 }, (_, i) => client.ask(nodes.encode(`probe ${prefix} ${i}`)))
      return (await Promise.all(probes)).every(nodes.isAdmitted)
    })
  }
  const admitted = new Array(CALLERS).fill(0)
  const times = []
  let answers = 0
  let failures = 0
  const startedAt = performance.now()
  let from = { at: startedAt, cpu: 0, answers: 0 }
  const endAt = startedAt + WARM_UP_MS + 1_000 * SECONDS
  setTimeout(() => {
    from = { at: performance.now(), cpu: cpuMs(nodes.children), answers }
    times.length = 0
  }, WARM_UP_MS)
  const lane = async (offset) => {
    for (let i = offset; performance.now() < endAt; i += IN_FLIGHT) {
      const caller = (i * 7) % CALLERS
      const askedAt = performance.now()
      try {
        if (nodes.isAdmitted(await clients[i % NODES].ask(requests[caller]))) admitted[caller]++
      } catch {
        failures++
      }
      answers++
      times.push(performance.now() - askedAt)
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, (_, i) => lane(i)))
  const seconds = (performance.now() - from.at) / 1_000
  const cpu = cpuMs(nodes.children) - from.cpu
  for (const client of clients) client.close()
  const ends = nodes.children.map((child) => once(child, 'exit'))
  for (const child of nodes.children) child.kill('SIGKILL')
  await Promise.all(ends)
  const sorted = Float64Array.from(times).sort()
  return {
    perSecond: (answers - from.answers) / seconds,
    cpuUs: (1_000 * cpu) / (answers - from.answers),
    p50: sorted[Math.floor(sorted.length * 0.5)],
    p99: sorted[Math.floor(sorted.length * 0.99)],
    failures,
    most: Math.max(...admitted),
  }
}

console.log(header('npm run bench -- peers', ['sluice', '@grpc/grpc-js']))
console.log(
  `\n${NODES} nodes, one client (grpc-js) with ${IN_FLIGHT} calls in flight, ${count(CALLERS)} callers, ${SECONDS} s\n`,
)
const rows = []
const broken = []
for (const [name, start] of [
  ['sluice', startSluice],
  ...(GUBERNATOR === undefined ? [] : [['gubernator', startGubernator]]),
]) {
  const { perSecond, cpuUs, p50, p99, failures, most } = await measure(start)
  rows.push([
    name,
    count(perSecond),
    `${cpuUs.toFixed(1)} µs`,
    `${p50.toFixed(2)} ms`,
    `${p99.toFixed(2)} ms`,
    count(failures),
    `${count(most)} of ${count(LIMIT)}`,
  ])
  if (name === 'sluice' && most > LIMIT) broken.push(`a caller was admitted ${most} of ${LIMIT}`)
}
console.log(table(['', 'answers a second', 'CPU of the nodes', 'p50', 'p99', 'failed', 'most admitted'], rows))
if (broken.length > 0) {
  console.error(`FAILED: ${broken.join('; ')}`)
  process.exitCode = 1
}
