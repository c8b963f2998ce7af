import { LiteralTrie, type TrieArrays } from './literal-trie.ts'

/**
 * WildcardIndex finds, of many patterns with `*` (any run of characters, the empty one too), the first in file order
 * that a value matches. A pattern is filed under one of the texts that every matching value has: the literal before its
 * first star, the one after its last, or the longest in between, whichever the fewest other patterns share. So a
 * look-up costs what the value's length costs, not what the number of patterns does.
 */
export class WildcardIndex<T> {
  readonly #patterns: Pattern<T>[] = []
  #tries: Tries<T> | undefined

  /** Lists what the patterns lead to, in file order. */
  get targets(): readonly T[] {
    return this.#patterns.map(({ target }) => target)
  }

  /** Lists the patterns, in file order. */
  get patterns(): readonly string[] {
    return this.#patterns.map(({ literals }) => literals.join('*'))
  }

  /** Lists the patterns with what they lead to, in file order. */
  get entries(): readonly (readonly [pattern: string, target: T])[] {
    return this.#patterns.map(({ literals, target }) => [literals.join('*'), target])
  }

  add(pattern: string, target: T): void {
    this.#patterns.push({ order: this.#patterns.length, literals: pattern.split('*'), target, triedIn: 0 })
    this.#tries = undefined
  }

  /**
   * Makes the index ready for look-ups. Without, the first look-up does, and takes longer for it. It is given what an
   * index of the same patterns has built, or builds it.
   */
  seal(built?: BuiltWildcards): void {
    this.#tries ??= new Tries(this.#patterns, built ?? build(this.#patterns))
  }

  /** What look-ups need in addition to the patterns. */
  get built(): BuiltWildcards {
    if (this.#tries === undefined) this.seal()
    return this.#tries!.built
  }

  find(value: string): T | undefined {
    if (this.#tries === undefined) this.seal()
    return this.#tries!.first(value)?.target
  }

  /** Returns what all patterns lead to that a value matches, in file order. It tries each of them. */
  findAll(value: string): readonly T[] {
    return this.#patterns.filter(({ literals }) => matches(literals, value)).map(({ target }) => target)
  }
}

interface Pattern<T> {
  readonly order: number
  /** What stands between the stars, the empty texts at the ends included. */
  readonly literals: readonly string[]
  readonly target: T
  /** The look-up that tried it last: a literal that a value has ten times is no reason to try ten times. */
  triedIn: number
}

/** A trie whose nodes lead to lists of patterns: `filed` has the number of the list for each, or 0. */
export interface FiledTrie extends TrieArrays {
  readonly filed: Int32Array
}

/** The tries of an index, as arrays alone. A trie without patterns is not there. */
export interface BuiltWildcards {
  readonly starts: FiledTrie | undefined
  /** Filed in reverse. */
  readonly ends: FiledTrie | undefined
  readonly middles: FiledTrie | undefined
  /** The lists of patterns, one after the other: how many, and the place of each in the file. The first is unused. */
  readonly lists: Int32Array
}

type Trie = LiteralTrie<number>

/** Tries hold the patterns, each filed under one of its literals, and in file order under the same one. */
class Tries<T> {
  readonly built: BuiltWildcards
  readonly #patterns: readonly Pattern<T>[]
  readonly #lists: Int32Array
  readonly #starts: Trie | undefined
  readonly #ends: Trie | undefined
  readonly #middles: Trie | undefined
  /** The first pattern of stars alone, which matches everything. */
  readonly #any: Pattern<T> | undefined
  #lookUps = 0

  constructor(patterns: readonly Pattern<T>[], built: BuiltWildcards) {
    this.built = built
    this.#patterns = patterns
    this.#lists = built.lists
    this.#starts = trieOf(built.starts)
    this.#ends = trieOf(built.ends)
    this.#middles = trieOf(built.middles)
    this.#any = patterns.find(({ literals }) => literals.every((literal) => literal === ''))
  }

  /** Returns the first pattern in file order that the value matches. */
  first(value: string): Pattern<T> | undefined {
    this.#lookUps++
    let best = this.#any
    if (this.#starts !== undefined) best = this.#firstByStart(this.#starts, value, best)
    if (this.#ends !== undefined) best = this.#firstByEnd(this.#ends, value, best)
    if (this.#middles !== undefined) best = this.#firstByMiddle(this.#middles, value, best)
    return best
  }

  #firstByStart(trie: Trie, value: string, best: Pattern<T> | undefined): Pattern<T> | undefined {
    for (let i = 0, node = 0; i < value.length; i++) {
      node = trie.childOf(node, value.charCodeAt(i))
      if (node === 0) break
      best = this.#better(trie.targetOf(node), value, best)
    }
    return best
  }

  #firstByEnd(trie: Trie, value: string, best: Pattern<T> | undefined): Pattern<T> | undefined {
    for (let i = value.length - 1, node = 0; i >= 0; i--) {
      node = trie.childOf(node, value.charCodeAt(i))
      if (node === 0) break
      best = this.#better(trie.targetOf(node), value, best)
    }
    return best
  }

  #firstByMiddle(trie: Trie, value: string, best: Pattern<T> | undefined): Pattern<T> | undefined {
    for (let i = 0, node = 0; i < value.length; i++) {
      const code = value.charCodeAt(i)
      let next = trie.childOf(node, code)
      while (next === 0 && node !== 0) {
        node = trie.fallbackOf(node)
        next = trie.childOf(node, code)
      }
      node = next
      for (let at = node; at !== 0; at = trie.nextFiledOf(at)) best = this.#better(trie.targetOf(at), value, best)
    }
    return best
  }

  /** Returns the first of the patterns that matches, if it stands before `best` in the file. */
  #better(list: number | undefined, value: string, best: Pattern<T> | undefined): Pattern<T> | undefined {
    if (list === undefined || list === 0) return best
    const end = list + this.#lists[list]
    for (let i = list + 1; i <= end; i++) {
      const order = this.#lists[i]
      if (best !== undefined && order >= best.order) return best
      const pattern = this.#patterns[order]
      if (pattern.triedIn === this.#lookUps) continue
      pattern.triedIn = this.#lookUps
      if (matches(pattern.literals, value)) return pattern
    }
    return best
  }
}

function trieOf(built: FiledTrie | undefined): Trie | undefined {
  if (built === undefined) return undefined
  return new LiteralTrie({ ...built, targets: built.filed })
}

/** Files patterns, and makes tries of that. */
function build<T>(patterns: readonly Pattern<T>[]): BuiltWildcards {
  const filed = fileAll(patterns)
  const lists = [0]
  const filedTrie = (texts: Filed<T>, isCut: boolean): FiledTrie | undefined => {
    if (texts.size === 0) return undefined
    const numbers = new Map<string, number>()
    for (const [text, those] of texts) {
      numbers.set(text, lists.length)
      lists.push(those.length)
      for (const { order } of those) lists.push(order)
    }
    const { targets, ...arrays } = new LiteralTrie(numbers, isCut).built
    return { ...arrays, filed: Int32Array.from(targets, (list) => list ?? 0) }
  }
  const starts = filedTrie(filed.starts, true)
  const ends = filedTrie(filed.ends, true)
  const middles = filedTrie(filed.middles, false)
  return { starts, ends, middles, lists: Int32Array.from(lists) }
}

type Filed<T> = Map<string, Pattern<T>[]>

interface Files<T> {
  readonly starts: Filed<T>
  readonly ends: Filed<T>
  readonly middles: Filed<T>
}

/** Files each pattern under the literal that the fewest patterns share, rather at the start than at the end. */
function fileAll<T>(patterns: readonly Pattern<T>[]): Files<T> {
  const all: Files<T> = { starts: new Map(), ends: new Map(), middles: new Map() }
  for (const pattern of patterns) {
    file(all.starts, startOf(pattern), pattern)
    file(all.ends, endOf(pattern), pattern)
    file(all.middles, middleOf(pattern), pattern)
  }
  const filed: Files<T> = { starts: new Map(), ends: new Map(), middles: new Map() }
  for (const pattern of patterns) {
    const starts = all.starts.get(startOf(pattern))?.length ?? Number.POSITIVE_INFINITY
    const ends = all.ends.get(endOf(pattern))?.length ?? Number.POSITIVE_INFINITY
    const middles = all.middles.get(middleOf(pattern))?.length ?? Number.POSITIVE_INFINITY
    if (starts <= ends && starts <= middles) file(filed.starts, startOf(pattern), pattern)
    else if (ends <= middles) file(filed.ends, reversed(endOf(pattern)), pattern)
    else file(filed.middles, middleOf(pattern), pattern)
  }
  return filed
}

function file<T>(filed: Filed<T>, under: string, pattern: Pattern<T>): void {
  const there = filed.get(under)
  if (there !== undefined) there.push(pattern)
  else if (under !== '') filed.set(under, [pattern])
}

const startOf = <T>({ literals }: Pattern<T>): string => literals[0]
const endOf = <T>({ literals }: Pattern<T>): string => literals[literals.length - 1]
const middleOf = <T>({ literals }: Pattern<T>): string =>
  literals.slice(1, -1).reduce((longest, literal) => (literal.length > longest.length ? literal : longest), '')

/** Turns a text around, by the units that charCodeAt counts. */
function reversed(text: string): string {
  let turned = ''
  for (let i = text.length - 1; i >= 0; i--) turned += text[i]
  return turned
}

/** Returns whether the literals occur in order, the first at the start and the last at the end. */
function matches(literals: readonly string[], value: string): boolean {
  const start = literals[0]
  const end = literals[literals.length - 1]
  if (value.length < start.length + end.length || !value.startsWith(start) || !value.endsWith(end)) return false
  let at = start.length
  const limit = value.length - end.length
  for (let i = 1; i < literals.length - 1; i++) {
    const found = value.indexOf(literals[i], at)
    if (found < 0 || found + literals[i].length > limit) return false
    at = found + literals[i].length
  }
  return true
}
