/** Reads the fields that came with a call. Names are in lower case. */
export class Metadata {
  readonly #fields: readonly string[]

  /** fields are names and values by turns. */
  constructor(fields: readonly string[]) {
    this.#fields = fields
  }

  /** Returns the first value of a field. */
  get(name: string): string | undefined {
    const fields = this.#fields
    for (let i = 0; i < fields.length; i += 2) if (fields[i] === name) return fields[i + 1]
    return undefined
  }

  /** Returns the first value of a field whose name ends in "-bin", decoded. */
  getBinary(name: string): Uint8Array | undefined {
    const value = this.get(name)
    // Several values may have been joined by commas on the way.
    return value === undefined ? undefined : Buffer.from(value.split(',', 1)[0], 'base64')
  }

  /** Returns every field in the order it came. */
  *entries(): IterableIterator<[name: string, value: string]> {
    const fields = this.#fields
    for (let i = 0; i < fields.length; i += 2) yield [fields[i], fields[i + 1]]
  }
}

const NAME = /^[0-9a-z_.-]+$/
const VALUE = /^[\x20-\x7e]*$/
// What the server writes itself, and what no HTTP/2 message may have.
const RESERVED = new Set([
  'content-type',
  'content-length',
  'grpc-status',
  'grpc-message',
  'grpc-encoding',
  'grpc-accept-encoding',
  'te',
  'connection',
  'proxy-connection',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
])

/** Returns the field as it is sent. It throws where a client could not read it. */
export function requireMetadata(name: string, value: string | Uint8Array): { name: string; value: string } {
  if (RESERVED.has(name)) throw new RangeError(`${name} cannot be set: it is reserved for the server`)
  if (!NAME.test(name))
    throw new RangeError(`${JSON.stringify(name)} cannot be set: names may have only a-z, 0-9, "_", "-" and "."`)
  const isBinary = name.endsWith('-bin')
  if (isBinary !== (typeof value !== 'string')) {
    throw new RangeError(`${name}: names that end in -bin need bytes, all others need a string`)
  }
  if (typeof value !== 'string') return { name, value: base64(value) }
  if (!VALUE.test(value)) throw new RangeError(`${name}: a value may have only the characters from space to "~"`)
  return { name, value: value.trim() }
}

const base64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64').replace(/=+$/, '')
