import { type HeaderField, HpackEncoder, mostEncodedBytes } from '../../server/src/grpc/hpack/hpack-encoder.ts'
import type { Random } from '../fuzz/random.ts'
import { callFields, END_HEADERS, END_STREAM, frame, PADDED, prefixed, settings, Type, uint32 } from './wire.ts'

const EDGES = [0, 1, 2, 100, 16_384, 65_535, 65_536, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1]
/** How often something is sent that is bound to end the connection: more often, and nothing else would ever be tried. */
const DEADLY = 0.004

/**
 * Makes up what a client sends that wants to do harm: frames that are mostly well formed, of every type, many of a
 * kind, with values at the edges, and on streams in every state. HPACK's table is kept in step, so that what is
 * compressed is read as it was meant.
 */
export class HostileSession {
  readonly #random: Random
  readonly #paths: readonly string[]
  readonly #encoder = new HpackEncoder({ huffman: false })
  readonly #more: Readonly<Record<string, string>>
  /** Streams on which data may follow. */
  #unfinished: number[] = []
  #last = -1

  /** A session calls one of the paths, or any of them, and has large headers or none: a weakness is tried at length. */
  constructor(random: Random, paths: readonly string[]) {
    this.#random = random
    this.#paths = random.chance(0.7) ? [random.pick(paths)] : paths
    this.#more = random.pick([{}, { 'x-large': 'a'.repeat(random.pick([100, 1_900, 9_000])) }])
  }

  /** Returns one frame or a burst of them. */
  next(): Buffer[] {
    const random = this.#random
    const kinds: readonly (() => Buffer[])[] = [
      () => this.#burst(40, () => this.#call()),
      () => this.#burst(40, () => this.#call()),
      () => this.#burst(60, () => this.#headers()),
      () => this.#burst(30, () => [...this.#headers(), this.#reset(this.#last)]),
      () => this.#burst(80, () => this.#data()),
      () => this.#burst(80, () => this.#data()),
      () => this.#burst(12, () => [this.#settings()]),
      () => this.#burst(300, () => [this.#windowUpdate(this.#used())]),
      () => this.#burst(300, () => [this.#windowUpdate(0)]),
      () => this.#burst(20, () => [frame(Type.PING, random.below(2), 0, random.bytes(8))]),
      () => this.#burst(40, () => [this.#priority()]),
      () => this.#burst(20, () => [this.#reset(this.#used())]),
      () => this.#burst(10, () => [frame(0x0a + random.below(240), random.below(256), this.#used(), random.bytes(9))]),
    ]
    if (!random.chance(3 * DEADLY)) return random.pick(kinds)()
    return [frame(random.below(11), random.below(256), this.#used() + random.below(3), random.bytes(random.below(60)))]
  }

  /** Resets whatever may be open. */
  giveUp(): Buffer[] {
    const first = Math.max(1, this.#last - 2 * 400)
    const frames: Buffer[] = []
    for (let stream = first; stream <= this.#last; stream += 2) frames.push(this.#reset(stream))
    return frames
  }

  #burst(most: number, make: () => Buffer[]): Buffer[] {
    return Array.from({ length: this.#random.pick([1, 2, most]) }, make).flat()
  }

  /** A stream that was opened, whatever has become of it. Where there is none, one is opened in silence. */
  #used(): number {
    if (this.#last < 0) return 0
    return Math.max(this.#last - 2 * this.#random.pick([0, 0, 1, this.#random.below(80)]), 1)
  }

  #call(): Buffer[] {
    const head = this.#headers(1)
    const message = prefixed(Buffer.alloc(this.#random.pick([0, 1, 100, 9_000])))
    this.#unfinished = this.#unfinished.filter((stream) => stream !== this.#last)
    return [...head, frame(Type.DATA, END_STREAM, this.#last, message)]
  }

  /** Opens a stream. */
  #headers(parts = this.#random.pick([1, 1, 1, 2, 8])): Buffer[] {
    const random = this.#random
    this.#last += 2
    const stream = this.#last
    this.#unfinished.push(stream)
    const fields = callFields(random.pick(this.#paths), this.#more)
    // A field out of the table takes one byte here, and up to 2 KB there.
    const [last] = fields.slice(-1)
    if (random.chance(0.3)) for (let n = 0; n < 5; n++) fields.push(last)
    const pieces = split(encode(this.#encoder, fields), random.chance(DEADLY) ? 12 : parts)
    return pieces.map((piece, i) => {
      const end = i === pieces.length - 1 ? END_HEADERS : 0
      return frame(i === 0 ? Type.HEADERS : Type.CONTINUATION, end, stream, piece)
    })
  }

  #data(): Buffer[] {
    const random = this.#random
    if (this.#unfinished.length === 0) return this.#headers()
    const stream = random.pick(this.#unfinished)
    const isEnd = random.chance(0.05)
    if (isEnd && !random.chance(DEADLY)) this.#unfinished = this.#unfinished.filter((each) => each !== stream)
    const announced = Buffer.concat([Buffer.of(0), uint32(random.pick([5_000, 60_000, 65_536]))])
    const part = random.pick([announced, announced, Buffer.alloc(1_000), Buffer.alloc(9_000), Buffer.of(0)])
    const flags = isEnd ? END_STREAM : 0
    if (random.chance(0.8)) return [frame(Type.DATA, flags, stream, part)]
    const padding = random.below(256)
    const padded = Buffer.concat([Buffer.of(padding), part, Buffer.alloc(padding)])
    return [frame(Type.DATA, flags | PADDED, stream, padded)]
  }

  #settings(): Buffer {
    const random = this.#random
    if (random.chance(10 * DEADLY)) return settings([random.below(10), random.pick(EDGES)])
    const count = random.chance(DEADLY) ? 2_730 : random.pick([0, 1, 1, 2, 32])
    return settings(
      ...Array.from({ length: count }, () =>
        random.pick([
          [1, random.pick([0, 100, 4_096, 65_536])] as const,
          [4, random.pick([0, 1, 2, 20_000])] as const,
          [4, random.pick([0, 1, 2, 20_000])] as const,
          [random.pick([3, 6, 9]), random.below(2 ** 31)] as const,
        ]),
      ),
    )
  }

  #windowUpdate(stream: number): Buffer {
    const increment = this.#random.chance(DEADLY) ? this.#random.pick(EDGES) : this.#random.pick([1, 1, 5, 100])
    return frame(Type.WINDOW_UPDATE, 0, stream, uint32(increment))
  }

  #priority(): Buffer {
    const on = this.#random.chance(DEADLY) ? this.#used() : 0
    return frame(Type.PRIORITY, 0, this.#used() || 1, Buffer.concat([uint32(on), Buffer.of(1)]))
  }

  #reset(stream: number): Buffer {
    this.#unfinished = this.#unfinished.filter((each) => each !== stream)
    if (stream === 0) return frame(Type.PING, 0, 0, Buffer.alloc(8))
    return frame(Type.RST_STREAM, 0, stream, uint32(this.#random.below(14)))
  }
}

function encode(encoder: HpackEncoder, fields: readonly HeaderField[]): Buffer {
  const out = Buffer.alloc(mostEncodedBytes(fields))
  return out.subarray(0, encoder.encode(fields, out, 0))
}

function split(bytes: Buffer, parts: number): Buffer[] {
  const size = Math.ceil(bytes.length / parts)
  return Array.from({ length: parts }, (_, i) => bytes.subarray(i * size, (i + 1) * size))
}
