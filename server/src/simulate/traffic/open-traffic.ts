import { createReadStream, statSync } from 'node:fs'
import { pipeline, Readable, type Transform } from 'node:stream'
import zlib from 'node:zlib'
import { SluiceError } from 'sluice/internal/core/errors'

const CHUNK_BYTES = 262_144
const GZIP = [0x1f, 0x8b]
const ZSTD = [0x28, 0xb5, 0x2f, 0xfd]

/** Bytes of one log, unpacked. */
export interface Traffic {
  readonly name: string
  readonly chunks: AsyncIterable<Buffer>
  /** The size of the file as it is, packed or not; undefined for a pipe. */
  readonly sizeBytes: number | undefined
  /** How many of those bytes were read. */
  readBytes(): number
}

/** Opens a log: a file, or `-` for standard input. What is packed by gzip or zstd is unpacked, whatever its name. */
export function openTraffic(name: string, stdin: () => Readable = () => process.stdin): Traffic {
  const isPipe = name === '-'
  let read = 0
  async function* counted(): AsyncGenerator<Buffer> {
    const raw = isPipe ? stdin() : createReadStream(name, { highWaterMark: CHUNK_BYTES })
    for await (const chunk of raw as AsyncIterable<Buffer>) {
      read += chunk.length
      yield chunk
    }
  }
  return {
    name: isPipe ? 'standard input' : name,
    sizeBytes: isPipe ? undefined : sizeOf(name),
    readBytes: () => read,
    chunks: unpacked(name, counted()),
  }
}

function sizeOf(name: string): number {
  try {
    const stats = statSync(name)
    if (!stats.isDirectory()) return stats.size
  } catch (error) {
    throw unreadable(name, error)
  }
  throw new SluiceError('FILE_UNREADABLE', name, 'it is a directory')
}

async function* unpacked(name: string, bytes: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  try {
    const first = await bytes.next()
    if (first.done === true) return
    const unpack = unpackerOf(name, first.value)
    if (unpack === undefined) {
      yield first.value
      yield* bytes
      return
    }
    async function* whole(): AsyncGenerator<Buffer> {
      yield first.value as Buffer
      yield* bytes
    }
    // What fails ends the unpacker, which then fails here.
    pipeline(Readable.from(whole(), { objectMode: false }), unpack, () => {})
    yield* unpack as AsyncIterable<Buffer>
  } catch (error) {
    throw error instanceof SluiceError ? error : unreadable(name, error)
  }
}

function unpackerOf(name: string, head: Buffer): Transform | undefined {
  if (beginsWith(head, GZIP)) return zlib.createGunzip({ chunkSize: CHUNK_BYTES })
  if (!beginsWith(head, ZSTD)) return undefined
  // Node.js has it from 22.15 on.
  const { createZstdDecompress } = zlib as { createZstdDecompress?: () => Transform }
  if (createZstdDecompress === undefined) throw new SluiceError('ZSTD_UNSUPPORTED', name, `Node.js ${process.version}`)
  return createZstdDecompress()
}

function beginsWith(bytes: Buffer, magic: readonly number[]): boolean {
  return magic.every((byte, i) => bytes[i] === byte)
}

function unreadable(name: string, error: unknown): SluiceError {
  const { code, message } = error as NodeJS.ErrnoException
  return new SluiceError('FILE_UNREADABLE', name === '-' ? 'standard input' : name, code ?? message)
}
