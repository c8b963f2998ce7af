const FIRST_BYTES = 1_024

/** Writes numbers and texts one after the other: little endian, texts behind their length. */
export class MessageWriter {
  #buffer = Buffer.allocUnsafe(FIRST_BYTES)
  #at = 0

  /** All that was written. */
  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#at)
  }

  byte(value: number): void {
    this.#make(1)
    this.#at = this.#buffer.writeUInt8(value, this.#at)
  }

  short(value: number): void {
    this.#make(2)
    this.#at = this.#buffer.writeUInt16LE(value, this.#at)
  }

  double(value: number): void {
    this.#make(8)
    this.#at = this.#buffer.writeDoubleLE(value, this.#at)
  }

  text(value: string): void {
    // At most three bytes for each unit of a text.
    this.#make(2 + 3 * value.length)
    const length = this.#buffer.write(value, this.#at + 2)
    this.#buffer.writeUInt16LE(length, this.#at)
    this.#at += 2 + length
  }

  raw(bytes: Uint8Array): void {
    this.#make(bytes.length)
    this.#buffer.set(bytes, this.#at)
    this.#at += bytes.length
  }

  #make(bytes: number): void {
    if (this.#at + bytes <= this.#buffer.length) return
    const larger = Buffer.allocUnsafe(2 * Math.max(this.#buffer.length, this.#at + bytes))
    this.#buffer.copy(larger, 0, 0, this.#at)
    this.#buffer = larger
  }
}

/** Reads what a MessageWriter wrote. Throws a RangeError where there is not enough. */
export class MessageReader {
  readonly #buffer: Buffer
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  }

  byte(): number {
    return this.#buffer.readUInt8(this.#skip(1))
  }

  short(): number {
    return this.#buffer.readUInt16LE(this.#skip(2))
  }

  double(): number {
    return this.#buffer.readDoubleLE(this.#skip(8))
  }

  text(): string {
    const length = this.short()
    return this.#buffer.toString('utf8', this.#skip(length), this.#at)
  }

  raw(length: number): Buffer {
    return this.#buffer.subarray(this.#skip(length), this.#at)
  }

  /** What has not been read. */
  get left(): number {
    return this.#buffer.length - this.#at
  }

  /** Throws where something is left. */
  end(): void {
    if (this.left > 0) throw new RangeError(`${this.left} bytes too many`)
  }

  #skip(bytes: number): number {
    const at = this.#at
    if (at + bytes > this.#buffer.length) throw new RangeError('the message ends too early')
    this.#at += bytes
    return at
  }
}
