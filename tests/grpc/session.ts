import { type HeaderField, HpackEncoder, mostEncodedBytes } from '../../server/src/grpc/hpack/hpack-encoder.ts'
import type { Random } from '../fuzz/random.ts'
import {
  callFields,
  END_HEADERS,
  END_STREAM,
  frame,
  PADDED,
  PREFACE,
  PRIORITIZED,
  prefixed,
  settings,
  Type,
  uint32,
} from './wire.ts'

/** What a client sends, frame by frame, and the messages that its calls must be answered with. */
export interface Session {
  readonly frames: Buffer[]
  readonly answers: ReadonlyMap<number, Buffer>
}

/**
 * Makes up a session in which a client does everything that RFC 9113 allows it: padding, priorities, header blocks in
 * several frames, frames of unknown types, messages in many DATA frames, streams that interleave. Every call is to be
 * answered with its own message.
 */
export function validSession(random: Random, path: string): Session {
  const encoder = new HpackEncoder({ huffman: random.chance(0.7) })
  const answers = new Map<number, Buffer>()
  const lanes = Array.from({ length: 1 + random.below(12) }, (_, i) => {
    const stream = 2 * i + 1
    const message = random.bytes(random.pick([0, 1, 5, 100, 1_000, 5_000]))
    answers.set(stream, message)
    return { stream, message }
  })
  const frames = [PREFACE, settings(...someSettings(random))]
  // Headers must be encoded in the order in which they are sent: the calls begin in order, their data interleaves.
  const waiting = lanes.map(({ stream, message }) => ({ stream, data: dataFrames(random, stream, message) }))
  let begun = 0
  while (begun < waiting.length || waiting.some(({ data }) => data.length > 0)) {
    if (begun < waiting.length && random.chance(0.4)) {
      frames.push(...headerFrames(random, waiting[begun++].stream, encode(encoder, fieldsOf(random, path))))
    } else {
      const running = waiting.slice(0, begun).filter(({ data }) => data.length > 0)
      if (running.length > 0) frames.push(random.pick(running).data.shift()!)
    }
    if (random.chance(0.15)) frames.push(interlude(random))
  }
  return { frames, answers }
}

function someSettings(random: Random): [number, number][] {
  const all: [number, number][] = [
    [1, random.pick([0, 100, 4096, 65_536])],
    [2, 0],
    [3, 100],
    [4, random.pick([65_535, 100_000, 2 ** 31 - 1])],
    [5, random.pick([16_384, 2 ** 24 - 1])],
    [6, 100_000],
    [0x0a0a, random.below(2 ** 31)],
  ]
  return all.filter(() => random.chance(0.3))
}

function fieldsOf(random: Random, path: string): HeaderField[] {
  const more: Record<string, string> = {}
  if (random.chance(0.3)) more['grpc-timeout'] = '10M'
  if (random.chance(0.3)) more['user-agent'] = 'fuzz/1.0'
  if (random.chance(0.3)) more[`x-${random.below(5)}`] = random.bytes(random.below(60)).toString('hex')
  if (random.chance(0.1)) more['x-large'] = random.bytes(1_500).toString('base64')
  const fields = callFields(path, more)
  return random.chance(0.2) ? [...fields, { name: 'authorization', value: 'a secret', sensitive: true }] : fields
}

function encode(encoder: HpackEncoder, fields: readonly HeaderField[]): Buffer {
  const out = Buffer.alloc(mostEncodedBytes(fields))
  return out.subarray(0, encoder.encode(fields, out, 0))
}

/** Sends a block as HEADERS, with or without padding and priority, and up to three CONTINUATION frames. */
function headerFrames(random: Random, stream: number, block: Buffer): Buffer[] {
  const cuts = Array.from({ length: random.pick([0, 0, 0, 1, 3]) }, () => random.below(block.length + 1)).sort(
    (a, b) => a - b,
  )
  const parts = [0, ...cuts].map((from, i) => block.subarray(from, cuts[i] ?? block.length))
  const [isPadded, isPrioritized] = [random.chance(0.2), random.chance(0.2)]
  const padding = isPadded ? random.below(50) : 0
  const head = Buffer.concat([
    isPadded ? Buffer.of(padding) : Buffer.alloc(0),
    isPrioritized ? Buffer.concat([uint32(0), Buffer.of(random.below(256))]) : Buffer.alloc(0),
    parts[0],
    Buffer.alloc(padding),
  ])
  const flags = (isPadded ? PADDED : 0) | (isPrioritized ? PRIORITIZED : 0)
  return parts.map((part, i) => {
    const end = i === parts.length - 1 ? END_HEADERS : 0
    return i === 0 ? frame(Type.HEADERS, flags | end, stream, head) : frame(Type.CONTINUATION, end, stream, part)
  })
}

/** Sends a message in one or several DATA frames, the last of which may be empty. */
function dataFrames(random: Random, stream: number, message: Buffer): Buffer[] {
  const bytes = prefixed(message)
  const cuts = Array.from({ length: random.pick([0, 0, 1, 4]) }, () => random.below(bytes.length + 1)).sort(
    (a, b) => a - b,
  )
  if (random.chance(0.1)) cuts.push(bytes.length)
  return [0, ...cuts].map((from, i) => {
    const part = bytes.subarray(from, cuts[i] ?? bytes.length)
    const end = i === cuts.length ? END_STREAM : 0
    if (!random.chance(0.2)) return frame(Type.DATA, end, stream, part)
    const padding = random.below(30)
    return frame(Type.DATA, end | PADDED, stream, Buffer.concat([Buffer.of(padding), part, Buffer.alloc(padding)]))
  })
}

/** A frame that may come at any time between others, and that changes no answer. */
function interlude(random: Random): Buffer {
  return random.pick([
    () => frame(Type.PING, 0, 0, random.bytes(8)),
    () => frame(Type.PRIORITY, 0, 2 * random.below(1_000) + 1, Buffer.concat([uint32(0), Buffer.of(16)])),
    () => frame(Type.WINDOW_UPDATE, 0, 0, uint32(1 + random.below(100_000))),
    () => frame(0x20 + random.below(200), random.below(256), random.below(1_000), random.bytes(random.below(50))),
    () => settings([4, random.pick([65_535, 200_000])]),
  ])()
}

/** Does one to four kinds of damage to a session. */
export function mutate(random: Random, session: readonly Buffer[]): Buffer[] {
  const frames: Buffer[] = session.map((each) => Buffer.from(each))
  const any = () => random.below(frames.length)
  const kinds: (() => void)[] = [
    () => void frames.splice(any(), 1),
    () => void frames.splice(any(), 0, Buffer.from(random.pick(frames))),
    () => {
      const [from, to] = [any(), any()]
      ;[frames[from], frames[to]] = [frames[to], frames[from]]
    },
    () => {
      const target = random.pick(frames)
      for (let n = 0; n <= random.below(4) && target.length > 0; n++)
        target[random.below(target.length)] = random.below(256)
    },
    () => {
      const target = random.pick(frames)
      if (target.length > 0) target[random.below(Math.min(9, target.length))] ^= 1 << random.below(8)
    },
    () => {
      const at = any()
      frames[at] = frames[at].subarray(0, random.below(frames[at].length + 1))
    },
    () => void frames.splice(any(), 0, random.bytes(random.below(40))),
    () =>
      void frames.splice(
        any(),
        0,
        frame(random.below(12), random.below(256), random.below(30), random.bytes(random.below(30))),
      ),
    () => void frames.splice(any(), 0, frame(Type.RST_STREAM, 0, 2 * random.below(14) + 1, uint32(random.below(16)))),
    () =>
      void frames.splice(
        any(),
        0,
        frame(Type.WINDOW_UPDATE, 0, random.below(20), uint32(random.pick([0, 1, 2 ** 31 - 1]))),
      ),
    () => void frames.splice(any(), 0, settings([random.below(8), random.below(2 ** 31)])),
  ]
  for (let n = 0; n <= random.below(4) && frames.length > 0; n++) random.pick(kinds)()
  return frames
}
