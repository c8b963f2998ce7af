import { formatIp, type IpAddress } from '../identity/ip.ts'
import type { Branch, RuleNode } from './rule-set.ts'

/** What is tried in the place of a star, and of a value that no pattern names. */
const FILLERS = ['', 'x', '~any~', '7', '/', 'x/x', 'x.x', 'x@x', 'zzzzzzzzzzzzzzzzzzzzzzzz']

/**
 * Returns a value for each node that a branch leads to: each exact value, an address of each block, a text that each
 * wildcard matches, and one that nothing else does. A node that no value leads to, because others come before it, has
 * none.
 */
export function exampleValues(branch: Branch): readonly string[] {
  const { exact, blocks, wildcards, any } = branch
  const found = [...exact.keys()]
  const add = (node: RuleNode | undefined, tried: Iterable<string>): void => {
    for (const value of tried) {
      if (nodeOf(branch, value) !== node || exact.has(value)) continue
      found.push(value)
      return
    }
  }
  if (blocks !== undefined) for (const [i, node] of blocks.targets.entries()) add(node, addressesIn(blocks.blocks, i))
  for (const [pattern, node] of wildcards?.entries ?? []) add(node, filled(pattern))
  if (any !== undefined) add(any, FILLERS)
  return found
}

function nodeOf({ exact, blocks, wildcards, any }: Branch, value: string): RuleNode | undefined {
  return exact.get(value) ?? blocks?.find(value) ?? wildcards?.find(value) ?? any
}

function filled(pattern: string): readonly string[] {
  return FILLERS.map((filler) => pattern.split('*').join(filler))
}

interface Block {
  readonly base: IpAddress
  readonly bits: number
}

const ALL = (1n << 128n) - 1n

/** Lists addresses of a block: its first and last, and those just outside of the other blocks. */
function* addressesIn(blocks: readonly Block[], at: number): Iterable<string> {
  const { first, last } = spanOf(blocks[at])
  yield textOf(first)
  yield textOf(last)
  for (const other of blocks) {
    const span = spanOf(other)
    for (const address of [span.first - 1n, span.last + 1n]) {
      if (first <= address && address <= last) yield textOf(address)
    }
  }
}

function spanOf({ base, bits }: Block): { readonly first: bigint; readonly last: bigint } {
  const first = base.reduce((value, word) => (value << 32n) | BigInt(word), 0n)
  return { first, last: first | (ALL >> BigInt(bits)) }
}

function textOf(address: bigint): string {
  const word = (shift: bigint): number => Number((address >> shift) & 0xffff_ffffn)
  return formatIp([word(96n), word(64n), word(32n), word(0n)])
}
