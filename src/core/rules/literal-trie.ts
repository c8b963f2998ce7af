/** The nodes of a trie, by their numbers, in a form that can be sent to another process. */
export interface TrieArrays {
  readonly parents: Int32Array
  readonly codes: Uint16Array
  /** A hash table of the nodes, by parent and character. */
  readonly slots: Int32Array
  /** Empty in a trie that is cut. */
  readonly fallbacks: Int32Array
  readonly nextFiled: Int32Array
}

/** A trie with what is filed at each of its nodes. */
export interface BuiltTrie<T> extends TrieArrays {
  readonly targets: ArrayLike<T | undefined>
}

/**
 * Holds many texts such that those a value starts with, or contains, are found in one walk along the value: a step for
 * each of its characters, no string made, however many texts there are. Nodes are numbers, 0 is the root, and a child
 * is found by hashing its parent and its character.
 */
export class LiteralTrie<T> {
  readonly #parents: Int32Array
  readonly #codes: Uint16Array
  readonly #slots: Int32Array
  readonly #targets: ArrayLike<T | undefined>
  readonly #fallbacks: Int32Array
  readonly #nextFiled: Int32Array

  /**
   * With `isCut`, a text is filed as soon as its start distinguishes it from all others, which takes far fewer nodes:
   * the caller must then compare the rest. Without it, the trie is also an automaton (Aho and Corasick, 1975), see
   * fallbackOf. Instead of texts it accepts what another trie has built.
   */
  constructor(texts: ReadonlyMap<string, T> | BuiltTrie<T>, isCut = false) {
    if ('parents' in texts) {
      this.#parents = texts.parents
      this.#codes = texts.codes
      this.#targets = texts.targets
      this.#slots = texts.slots
      this.#fallbacks = texts.fallbacks
      this.#nextFiled = texts.nextFiled
      return
    }
    const { parents, codes, depths, targets } = nodesOf(texts, isCut)
    this.#parents = Int32Array.from(parents)
    this.#codes = Uint16Array.from(codes)
    this.#targets = targets
    this.#slots = new Int32Array(1 << Math.ceil(Math.log2(2 * parents.length)))
    for (let node = 1; node < parents.length; node++) this.#file(node)
    this.#fallbacks = new Int32Array(isCut ? 0 : parents.length)
    this.#nextFiled = new Int32Array(isCut ? 0 : parents.length)
    if (!isCut) this.#link(depths)
  }

  /** Returns what this trie is made of. */
  get built(): BuiltTrie<T> {
    return {
      parents: this.#parents,
      codes: this.#codes,
      slots: this.#slots,
      fallbacks: this.#fallbacks,
      nextFiled: this.#nextFiled,
      targets: this.#targets,
    }
  }

  /** Returns where a character leads from a node, or 0 if nowhere. */
  childOf(node: number, code: number): number {
    const mask = this.#slots.length - 1
    for (let at = slotOf(node, code) & mask; ; at = (at + 1) & mask) {
      const child = this.#slots[at]
      if (child === 0 || (this.#codes[child] === code && this.#parents[child] === node)) return child
    }
  }

  /** Returns what is filed at a node. */
  targetOf(node: number): T | undefined {
    return this.#targets[node]
  }

  /** Returns the node of the longest proper end of this node's text that the trie has. */
  fallbackOf(node: number): number {
    return this.#fallbacks[node]
  }

  /** Returns the closest node, by fallbacks from this one, at which something is filed, or 0. */
  nextFiledOf(node: number): number {
    return this.#nextFiled[node]
  }

  #file(node: number): void {
    const mask = this.#slots.length - 1
    let at = slotOf(this.#parents[node], this.#codes[node]) & mask
    while (this.#slots[at] !== 0) at = (at + 1) & mask
    this.#slots[at] = node
  }

  /** Finds the fallbacks of shallow nodes first: a node's fallback follows from its parent's. */
  #link(depths: readonly number[]): void {
    const byDepth = depths.map((_, node) => node).sort((a, b) => depths[a] - depths[b])
    for (const node of byDepth) {
      if (depths[node] < 2) continue
      const code = this.#codes[node]
      let from = this.#fallbacks[this.#parents[node]]
      while (from !== 0 && this.childOf(from, code) === 0) from = this.#fallbacks[from]
      const fallback = this.childOf(from, code)
      this.#fallbacks[node] = fallback
      this.#nextFiled[node] = this.#targets[fallback] === undefined ? this.#nextFiled[fallback] : fallback
    }
  }
}

function slotOf(node: number, code: number): number {
  const mixed = Math.imul(node, 0x9e3779b1) ^ Math.imul(code, 0x85ebca6b)
  return mixed ^ (mixed >>> 15)
}

interface Nodes<T> {
  readonly parents: number[]
  readonly codes: number[]
  readonly depths: number[]
  readonly targets: (T | undefined)[]
}

/** Adds the texts in order, so that each shares its first nodes with the one before. */
function nodesOf<T>(texts: ReadonlyMap<string, T>, isCut: boolean): Nodes<T> {
  const nodes: Nodes<T> = { parents: [0], codes: [0], depths: [0], targets: [undefined] }
  const sorted = [...texts.keys()].sort()
  const path = [0]
  for (let i = 0; i < sorted.length; i++) {
    const text = sorted[i]
    const shared = i === 0 ? 0 : sharedLength(sorted[i - 1], text)
    const sharedNext = i === sorted.length - 1 ? 0 : sharedLength(text, sorted[i + 1])
    const length = isCut ? Math.min(text.length, Math.max(shared, sharedNext) + 1) : text.length
    path.length = Math.min(path.length, shared + 1)
    for (let depth = path.length; depth <= length; depth++) {
      path.push(nodes.parents.length)
      nodes.parents.push(path[depth - 1])
      nodes.codes.push(text.charCodeAt(depth - 1))
      nodes.depths.push(depth)
      nodes.targets.push(undefined)
    }
    nodes.targets[path[length]] = texts.get(text)
  }
  return nodes
}

function sharedLength(a: string, b: string): number {
  let length = 0
  while (length < a.length && length < b.length && a.charCodeAt(length) === b.charCodeAt(length)) length++
  return length
}
