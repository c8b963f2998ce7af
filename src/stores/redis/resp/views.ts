const MAX_KEPT_BYTES = 512

/**
 * The beginnings of a buffer, by their length. Short ones are kept: commands and replies of a service have few lengths,
 * and a view is a hundred bytes of garbage.
 */
export class Views {
  readonly buffer: Buffer
  readonly #kept: Buffer[] = []

  constructor(buffer: Buffer) {
    this.buffer = buffer
  }

  of(length: number): Buffer {
    if (length >= MAX_KEPT_BYTES) return this.buffer.subarray(0, length)
    this.#kept[length] ??= this.buffer.subarray(0, length)
    return this.#kept[length]
  }
}
