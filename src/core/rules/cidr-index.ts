import { type Cidr, type IpAddress, isV4, parseIp } from '../identity/ip.ts'

/**
 * Finds the most specific of many address blocks that an address lies in. The blocks are laid out as ranges that do not
 * overlap, each with the one block that counts there; a look-up is a binary search for the address. So a hundred
 * thousand blocks take 17 comparisons, and ten take 4.
 */
export class CidrIndex<T> {
  readonly #blocks: Block<T>[] = []
  readonly #known = new Set<string>()
  #built: BuiltBlocks | undefined

  /** Files a block. It returns false when that very block is there already. */
  add(cidr: Cidr, target: T): boolean {
    const known = `${cidr.base.join(' ')}/${cidr.bits}`
    if (this.#known.has(known)) return false
    this.#known.add(known)
    this.#blocks.push({ cidr, target })
    this.#built = undefined
    return true
  }

  /** Lists what the blocks lead to. */
  get targets(): readonly T[] {
    return this.#blocks.map(({ target }) => target)
  }

  /** Returns an index of the same blocks that lead elsewhere. */
  map<U>(to: (target: T) => U): CidrIndex<U> {
    const mapped = new CidrIndex<U>()
    for (const { cidr, target } of this.#blocks) mapped.add(cidr, to(target))
    return mapped
  }

  /** Lists the blocks, in the order in which they were added. */
  get blocks(): readonly Cidr[] {
    return this.#blocks.map(({ cidr }) => cidr)
  }

  /**
   * Makes the index ready for look-ups. Without, the first look-up does, and takes longer for it. It is given what an
   * index of the same blocks has built, or builds it.
   */
  seal(built?: BuiltBlocks): void {
    if (this.#built !== undefined) return
    const spans = built === undefined ? this.#blocks.map(spanOf) : []
    this.#built = built ?? { v4: rangesOf(spans, true), v6: rangesOf(spans, false) }
  }

  /** What look-ups need in addition to the blocks. */
  get built(): BuiltBlocks {
    if (this.#built === undefined) this.seal()
    return this.#built!
  }

  /** Returns the target of the longest matching prefix; undefined for a value that is no address. */
  find(value: string): T | undefined {
    const ip = parseIp(value)
    if (ip === undefined) return undefined
    if (this.#built === undefined) this.seal()
    const { v4, v6 } = this.#built!
    const block = isV4(ip) ? v4.blocks[countV4(v4.starts, ip[3]) - 1] : v6.blocks[countV6(v6.starts, ip) - 1]
    // Before the first range there is no block, and some ranges lie in none.
    return block === undefined || block < 0 ? undefined : this.#blocks[block].target
  }

  /** Returns the targets of all matching prefixes, the longest first. It tries each block. */
  findAll(value: string): readonly T[] {
    const ip = parseIp(value)
    if (ip === undefined) return []
    const at = bigOf(ip)
    const isIn = (span: Span): boolean => span.isV4 === isV4(ip) && span.first <= at && at <= span.last
    const matching = this.#blocks.map(spanOf).filter(isIn)
    return matching
      .sort((a, b) => (a.last - a.first < b.last - b.first ? -1 : 1))
      .map(({ i }) => this.#blocks[i].target)
  }
}

const V4_BITS = 96
const ALL = (1n << 128n) - 1n

interface Block<T> {
  readonly cidr: Cidr
  readonly target: T
}

/** The addresses of the i-th block. */
interface Span {
  readonly i: number
  readonly isV4: boolean
  readonly first: bigint
  readonly last: bigint
}

function spanOf({ cidr: { base, bits } }: Block<unknown>, i: number): Span {
  const first = bigOf(base)
  // IPv4 stands at ::ffff:0:0/96, but a shorter prefix, such as ::/0, is meant for IPv6 alone.
  return { i, isV4: isV4(base) && bits >= V4_BITS, first, last: first | (ALL >> BigInt(bits)) }
}

/** Where each range starts (four words, for IPv4 the last of them), and the number of its block, or -1. */
export interface Ranges {
  readonly starts: Uint32Array
  readonly blocks: Int32Array
}

/** The ranges of an index, as arrays alone. */
export interface BuiltBlocks {
  readonly v4: Ranges
  readonly v6: Ranges
}

/** Lays out the spans of one kind. Two of them are either apart or one inside of the other. */
function rangesOf(spans: readonly Span[], ofV4: boolean): Ranges {
  const ranges: { start: bigint; block: number }[] = []
  const from = (start: bigint, block: number): void => {
    if (ranges.at(-1)?.start === start) ranges.pop()
    ranges.push({ start, block })
  }
  const open: Span[] = []
  /** Ends the spans that end before an address. The spans around them stay open. */
  const close = (before: bigint): void => {
    for (let inner = open.at(-1); inner !== undefined && inner.last < before; inner = open.at(-1)) {
      open.pop()
      from(inner.last + 1n, open.at(-1)?.i ?? -1)
    }
  }
  for (const span of spans.filter(({ isV4 }) => isV4 === ofV4).sort(outerFirst)) {
    close(span.first)
    open.push(span)
    from(span.first, span.i)
  }
  close(ALL + 1n)
  // After the last address nothing starts.
  const kept = ranges.filter(({ start }) => start <= (ofV4 ? LAST_V4 : ALL))
  const shifts = ofV4 ? [0n] : [96n, 64n, 32n, 0n]
  const words = kept.flatMap(({ start }) => shifts.map((shift) => Number((start >> shift) & 0xffff_ffffn)))
  return { starts: Uint32Array.from(words), blocks: Int32Array.from(kept, ({ block }) => block) }
}

const LAST_V4 = 0xffff_ffff_ffffn

function outerFirst(a: Span, b: Span): number {
  if (a.first !== b.first) return a.first < b.first ? -1 : 1
  return a.last > b.last ? -1 : 1
}

function bigOf(ip: IpAddress): bigint {
  return ip.reduce((value, word) => (value << 32n) | BigInt(word), 0n)
}

/** Returns how many ranges start at or before an address. */
function countV4(starts: Uint32Array, address: number): number {
  let low = 0
  let high = starts.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (starts[middle] <= address) low = middle + 1
    else high = middle
  }
  return low
}

function countV6(starts: Uint32Array, ip: IpAddress): number {
  let low = 0
  let high = starts.length >>> 2
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isAtOrBefore(starts, middle << 2, ip)) low = middle + 1
    else high = middle
  }
  return low
}

function isAtOrBefore(starts: Uint32Array, at: number, ip: IpAddress): boolean {
  for (let word = 0; word < 3; word++) {
    const start = starts[at + word]
    if (start !== ip[word]) return start < ip[word]
  }
  return starts[at + 3] <= ip[3]
}
