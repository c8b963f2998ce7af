import { type Cidr, type IpAddress, isV4, parseIp } from '../identity/ip.ts'

/**
 * CidrIndex finds the most specific of many address blocks that an address lies in. The blocks are laid out as ranges
 * that do not overlap, each with the one block that counts there; a look-up is a binary search for the address. So a
 * hundred thousand blocks take 17 comparisons, and ten take 4.
 */
export class CidrIndex<T> {
  readonly #blocks: Block<T>[] = []
  readonly #known = new Set<string>()
  #ranges: { readonly v4: Ranges<T>; readonly v6: Ranges<T> } | undefined

  /** add files a block. It returns false when that very block is there already. */
  add({ base, bits }: Cidr, target: T): boolean {
    const known = `${base.join(' ')}/${bits}`
    if (this.#known.has(known)) return false
    this.#known.add(known)
    // IPv4 stands at ::ffff:0:0/96, but a shorter prefix, such as ::/0, is meant for IPv6 alone.
    const first = bigOf(base)
    this.#blocks.push({ isV4: isV4(base) && bits >= V4_BITS, first, last: first | (ALL >> BigInt(bits)), target })
    this.#ranges = undefined
    return true
  }

  /** targets lists what the blocks lead to. */
  get targets(): readonly T[] {
    return this.#blocks.map(({ target }) => target)
  }

  /** map returns an index of the same blocks that lead elsewhere. */
  map<U>(to: (target: T) => U): CidrIndex<U> {
    const mapped = new CidrIndex<U>()
    for (const known of this.#known) mapped.#known.add(known)
    for (const block of this.#blocks) mapped.#blocks.push({ ...block, target: to(block.target) })
    return mapped
  }

  /** seal makes the index ready for look-ups. Without, the first look-up does, and takes longer for it. */
  seal(): void {
    this.#ranges ??= {
      v4: rangesOf(this.#blocks, true),
      v6: rangesOf(this.#blocks, false),
    }
  }

  /** find returns the target of the longest matching prefix; undefined for a value that is no address. */
  find(value: string): T | undefined {
    const ip = parseIp(value)
    if (ip === undefined) return undefined
    if (this.#ranges === undefined) this.seal()
    const { v4, v6 } = this.#ranges!
    if (isV4(ip)) return v4.targets[countV4(v4.starts, ip[3]) - 1]
    return v6.targets[countV6(v6.starts, ip) - 1]
  }

  /** findAll returns the targets of all matching prefixes, the longest first. It tries each block. */
  findAll(value: string): readonly T[] {
    const ip = parseIp(value)
    if (ip === undefined) return []
    const at = bigOf(ip)
    const isIn = (block: Block<T>): boolean => block.isV4 === isV4(ip) && block.first <= at && at <= block.last
    const sizeOf = ({ first, last }: Block<T>): bigint => last - first
    const matching = this.#blocks.filter(isIn).sort((a, b) => (sizeOf(a) < sizeOf(b) ? -1 : 1))
    return matching.map(({ target }) => target)
  }
}

const V4_BITS = 96
const ALL = (1n << 128n) - 1n

interface Block<T> {
  readonly isV4: boolean
  readonly first: bigint
  readonly last: bigint
  readonly target: T
}

/** Ranges are where each range starts (four words, for IPv4 the last of them), and what it leads to, if anywhere. */
interface Ranges<T> {
  readonly starts: Uint32Array
  readonly targets: readonly (T | undefined)[]
}

/** rangesOf lays out the blocks of one kind. Two blocks are either apart or one inside of the other. */
function rangesOf<T>(blocks: readonly Block<T>[], ofV4: boolean): Ranges<T> {
  const ranges: { start: bigint; target: T | undefined }[] = []
  const from = (start: bigint, target: T | undefined): void => {
    if (ranges.at(-1)?.start === start) ranges.pop()
    ranges.push({ start, target })
  }
  const open: Block<T>[] = []
  /** close ends the blocks that end before an address; what they are in goes on. */
  const close = (before: bigint): void => {
    for (let inner = open.at(-1); inner !== undefined && inner.last < before; inner = open.at(-1)) {
      open.pop()
      from(inner.last + 1n, open.at(-1)?.target)
    }
  }
  for (const block of blocks.filter(({ isV4 }) => isV4 === ofV4).sort(outerFirst)) {
    close(block.first)
    open.push(block)
    from(block.first, block.target)
  }
  close(ALL + 1n)
  // After the last address nothing starts.
  const kept = ranges.filter(({ start }) => start <= (ofV4 ? LAST_V4 : ALL))
  const shifts = ofV4 ? [0n] : [96n, 64n, 32n, 0n]
  const words = kept.flatMap(({ start }) => shifts.map((shift) => Number((start >> shift) & 0xffff_ffffn)))
  return { starts: Uint32Array.from(words), targets: kept.map(({ target }) => target) }
}

const LAST_V4 = 0xffff_ffff_ffffn

function outerFirst(a: Block<unknown>, b: Block<unknown>): number {
  if (a.first !== b.first) return a.first < b.first ? -1 : 1
  return a.last > b.last ? -1 : 1
}

function bigOf(ip: IpAddress): bigint {
  return ip.reduce((value, word) => (value << 32n) | BigInt(word), 0n)
}

/** countV4 returns how many ranges start at or before an address. */
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
