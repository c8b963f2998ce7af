import type { RequestHead } from './request-head.ts'

const ENTRIES = 8
const MAX_BYTES = 1_024

/**
 * Recognises header blocks by their bytes. The same bytes mean the same fields for as long as the dynamic table of
 * HPACK stays the same, and clients send the same block again and again once their fields are in that table.
 */
export class HeadCache {
  readonly #blocks: Uint8Array[] = []
  readonly #heads: RequestHead[] = []
  #version = 0
  /** The entry that was found last, where the next block is looked for first. */
  #latest = 0
  #next = 0
  /** What the blocks take, twice: once as they came, and about as much again for what is literal in them. */
  bytes = 0

  /** Returns the head of a block that was stored under the same version of the table. */
  find(bytes: Uint8Array, start: number, end: number, version: number): RequestHead | undefined {
    if (version !== this.#version) return undefined
    const blocks = this.#blocks
    if (blocks.length === 0) return undefined
    if (equals(blocks[this.#latest], bytes, start, end)) return this.#heads[this.#latest]
    for (let i = 0; i < blocks.length; i++) {
      if (i === this.#latest || !equals(blocks[i], bytes, start, end)) continue
      this.#latest = i
      return this.#heads[i]
    }
    return undefined
  }

  /** Keeps a head. Only blocks that left the table as it was may be stored. */
  store(bytes: Uint8Array, start: number, end: number, version: number, head: RequestHead): void {
    if (end - start > MAX_BYTES) return
    if (version !== this.#version) {
      this.#version = version
      this.#blocks.length = 0
      this.#heads.length = 0
      this.#latest = 0
      this.#next = 0
      this.bytes = 0
    }
    this.bytes += 2 * (end - start - (this.#blocks[this.#next]?.length ?? 0))
    this.#blocks[this.#next] = new Uint8Array(bytes.subarray(start, end))
    this.#heads[this.#next] = head
    this.#next = (this.#next + 1) % ENTRIES
  }
}

function equals(block: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  const { length } = block
  if (end - start !== length) return false
  for (let i = 0; i < length; i++) if (block[i] !== bytes[start + i]) return false
  return true
}
