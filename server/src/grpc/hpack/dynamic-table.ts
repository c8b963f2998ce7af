/** The size of an entry in addition to its name and value (RFC 7541, 4.1). */
export const ENTRY_OVERHEAD = 32

/** Returns what a field counts in a table, and in the size of a header list (RFC 9113, 6.5.2). */
export const entryBytes = (name: string, value: string): number => name.length + value.length + ENTRY_OVERHEAD

const FIRST_CAPACITY = 8

/**
 * The table of RFC 7541, 2.3.2: index 0 is the newest entry. It is a ring that grows with its entries, so that an idle
 * connection holds next to nothing.
 */
export class DynamicTable {
  /** Changes whenever an entry comes or goes, or the size that the table may have changes. */
  version = 0
  length = 0
  bytes = 0
  maxBytes: number
  #names: string[] = []
  #values: string[] = []
  #newest = 0

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes
  }

  /** Returns the name at an index, which must be below `length`. */
  nameAt(index: number): string {
    return this.#names[(this.#newest - index) & (this.#names.length - 1)]
  }

  /** Returns the value at an index, which must be below `length`. */
  valueAt(index: number): string {
    return this.#values[(this.#newest - index) & (this.#names.length - 1)]
  }

  /** Evicts what has to go and then adds the entry. One that is larger than the table leaves it empty (4.4). */
  add(name: string, value: string): void {
    this.version++
    const size = entryBytes(name, value)
    this.#shrinkTo(this.maxBytes - size)
    if (size > this.maxBytes) return
    if (this.length === this.#names.length) this.#grow()
    this.#newest = (this.#newest + 1) & (this.#names.length - 1)
    this.#names[this.#newest] = name
    this.#values[this.#newest] = value
    this.length++
    this.bytes += size
  }

  /** Sets how large the table may be, and evicts what has to go. */
  resize(maxBytes: number): void {
    if (maxBytes === this.maxBytes) return
    this.version++
    this.maxBytes = maxBytes
    this.#shrinkTo(maxBytes)
  }

  /** Returns the index of a field, or -1. */
  find(name: string, value: string): number {
    for (let index = 0; index < this.length; index++) {
      if (this.valueAt(index) === value && this.nameAt(index) === name) return index
    }
    return -1
  }

  /** Returns the index of the newest field with this name, or -1. */
  findName(name: string): number {
    for (let index = 0; index < this.length; index++) if (this.nameAt(index) === name) return index
    return -1
  }

  #shrinkTo(bytes: number): void {
    while (this.bytes > bytes && this.length > 0) {
      const oldest = (this.#newest - this.length + 1) & (this.#names.length - 1)
      this.bytes -= entryBytes(this.#names[oldest], this.#values[oldest])
      this.#names[oldest] = ''
      this.#values[oldest] = ''
      this.length--
    }
  }

  #grow(): void {
    const capacity = Math.max(FIRST_CAPACITY, this.#names.length * 2)
    const names = new Array<string>(capacity).fill('')
    const values = new Array<string>(capacity).fill('')
    for (let index = 0; index < this.length; index++) {
      names[this.length - 1 - index] = this.nameAt(index)
      values[this.length - 1 - index] = this.valueAt(index)
    }
    this.#names = names
    this.#values = values
    this.#newest = (this.length - 1) & (capacity - 1)
  }
}
