import { readFileSync } from 'node:fs'
import { Duplex } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { Health } from '../../server/src/edge/health/health.ts'
import { registerHealth } from '../../server/src/edge/health/health-door.ts'
import { registerRls } from '../../server/src/edge/rls/rls-door.ts'
import { GrpcServer } from '../../server/src/grpc/index.ts'
import { type Codec, RLS_RESPONSE } from '../../server/src/protobuf/protos.suite.ts'
import { loadRules } from '../../src/core/rules/load.ts'
import { sceneOf } from '../rules/examples.suite.ts'
import { codecs } from './rls-service.suite.ts'

/*
 * What real clients sent on one connection, from the first byte to the last, replayed byte for byte. The clients were an
 * Envoy 1.40.0 in front of which curl asked (eight times; a header with the byte 0xff and one with a tab among them), a
 * health check of the same Envoy, grpc-go with Envoy's own Go types, and grpc-js.
 */
interface Exchange {
  readonly client: string
  readonly bytes: string
}

const exchanges: readonly Exchange[] = JSON.parse(
  readFileSync(new URL('../fixtures/rls/exchanges.json', import.meta.url), 'utf8'),
)

const rules = loadRules([
  {
    file: 'edge.yaml',
    text: `
domain: edge
descriptors:
  - key: remote_address
    rate_limit:
      name: per-address
      unit: minute
      requests_per_unit: 5
      response: {body: '{"error":"slow down"}', headers: {x-reason: quota}}
  - key: user
    descriptors:
      - key: path
        rate_limit: {window: 90s, requests_per_unit: 100}
`,
  },
])

const PER_ADDRESS = { requestsPerUnit: 5, unit: 'MINUTE', name: 'per-address' }
const PER_USER = { requestsPerUnit: 100 }
const NO_ANSWER = undefined

/** Says what an answer says: the code for all, then what is left of every limit. */
function brief(answer: unknown): string {
  const { overallCode, statuses, rawBody } = answer as {
    overallCode: string
    statuses: { currentLimit: object; limitRemaining?: number }[]
    rawBody?: string
  }
  const left = statuses.map(({ limitRemaining = 0 }) => limitRemaining)
  return [overallCode, ...left, rawBody && Buffer.from(rawBody, 'base64').toString()]
    .filter((each) => each !== undefined)
    .join(' ')
}

const ENVOY = [
  'OK 4 99',
  'OK 3 98',
  'OK 2 97',
  'OK 1 96',
  'OK 0 95',
  ...new Array(3).fill('OVER_LIMIT 0 95 {"error":"slow down"}'),
]
// The last two are callers of another name, who have their own 100.
ENVOY[6] = ENVOY[7] = 'OVER_LIMIT 0 100 {"error":"slow down"}'
const BY_HAND = [
  'OK 4 99',
  'OK 0',
  'OVER_LIMIT 0 2 {"error":"slow down"}',
  'OVER_LIMIT 0 {"error":"slow down"}',
  'OK 2',
  NO_ANSWER,
]

const EXPECTED: Readonly<Record<string, readonly (string | undefined)[]>> = {
  'Envoy 1.40.0': ENVOY,
  'grpc-go 1.85.0 with go-control-plane 1.40.0': BY_HAND,
  'grpc-js 1.14.7 with protobufjs 8.8.1': BY_HAND,
}

describe.each(exchanges)('the recorded bytes of $client', ({ client, bytes }) => {
  const recorded = Buffer.from(bytes, 'hex')

  it.each<[string, number]>([
    ['at once', recorded.length],
    ['byte by byte', 1],
    ['in pieces of 37 bytes', 37],
  ])('are answered when they come %s', async (_, size) => {
    const answers = await replay(recorded, size)
    if (client in EXPECTED) {
      expect(answersOf(answers, RLS_RESPONSE).map((each) => each && brief(each))).toEqual(EXPECTED[client])
    } else expect(answersOf(answers, codecs.healthResponse)).toEqual([{ status: 'SERVING' }])
  })
})

it('the recorded bytes of Envoy name limits as they are', async () => {
  const [envoy] = exchanges
  const [first] = answersOf(await replay(Buffer.from(envoy.bytes, 'hex'), 1_000), RLS_RESPONSE)
  expect(first).toMatchObject({ statuses: [{ currentLimit: PER_ADDRESS }, { currentLimit: PER_USER }] })
})

interface Frame {
  readonly type: number
  readonly flags: number
  readonly stream: number
  readonly payload: Buffer
}

const DATA = 0
const HEADERS = 1
const END_STREAM = 1
const PREFACE_BYTES = 24

function framesOf(bytes: Buffer): Frame[] {
  const frames: Frame[] = []
  for (let at = 0; at + 9 <= bytes.length; ) {
    const end = at + 9 + bytes.readUIntBE(at, 3)
    frames.push({
      type: bytes[at + 3],
      flags: bytes[at + 4],
      stream: bytes.readUInt32BE(at + 5),
      payload: bytes.subarray(at + 9, end),
    })
    at = end
  }
  return frames
}

/** Plays a client: it sends the recorded bytes in pieces, and returns all that comes back once all is answered. */
async function replay(recorded: Buffer, size: number): Promise<Frame[]> {
  const server = new GrpcServer()
  registerRls(server, sceneOf(rules, 'edge').limiter)
  registerHealth(server, new Health(), [])
  const asked = framesOf(recorded.subarray(PREFACE_BYTES)).filter(({ type }) => type === HEADERS).length
  const received: Buffer[] = []
  const answered = new Promise<Frame[]>((resolve) => {
    const socket = new Duplex({
      read() {},
      write(chunk: Buffer, _, done) {
        received.push(Buffer.from(chunk))
        const frames = framesOf(Buffer.concat(received))
        if (
          frames.filter(({ stream, flags, type }) => stream > 0 && type <= HEADERS && flags & END_STREAM).length ===
          asked
        ) {
          resolve(frames)
        }
        done()
      },
    })
    server.addConnection(socket)
    for (let at = 0; at < recorded.length; at += size) socket.push(recorded.subarray(at, at + size))
  })
  const frames = await answered
  await server.close()
  return frames
}

/** Reads the answer on every stream, in order; undefined where the call failed and there is none. */
function answersOf(frames: readonly Frame[], codec: Codec): unknown[] {
  const streams = [...new Set(frames.filter(({ stream }) => stream > 0).map(({ stream }) => stream))].sort(
    (a, b) => a - b,
  )
  return streams.map((id) => {
    const data = frames.filter(({ type, stream }) => type === DATA && stream === id).map(({ payload }) => payload)
    return data.length === 0 ? undefined : codec.decode(Buffer.concat(data).subarray(5))
  })
}
