import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LiteralTrie } from './literal-trie.ts'

const trieOf = (texts: readonly string[], isCut: boolean): LiteralTrie<string> =>
  new LiteralTrie(new Map(texts.map((text) => [text, text])), isCut)

/** Walks along a value, and returns what is filed on the way. */
function startsFound(trie: LiteralTrie<string>, value: string): string[] {
  const found: string[] = []
  for (let i = 0, node = 0; i < value.length; i++) {
    node = trie.childOf(node, value.charCodeAt(i))
    if (node === 0) break
    const text = trie.targetOf(node)
    if (text !== undefined) found.push(text)
  }
  return found
}

/** Walks along a value with fallbacks, and returns what ends at each of its characters. */
function occurrencesFound(trie: LiteralTrie<string>, value: string): string[] {
  const found: string[] = []
  let node = 0
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i)
    while (node !== 0 && trie.childOf(node, code) === 0) node = trie.fallbackOf(node)
    node = trie.childOf(node, code)
    for (let at = node; at !== 0; at = trie.nextFiledOf(at)) {
      const text = trie.targetOf(at)
      if (text !== undefined) found.push(`${text}@${i + 1 - text.length}`)
    }
  }
  return found.sort()
}

const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 6 })
const value = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'd'), maxLength: 14 })

describe('LiteralTrie', () => {
  it('finds the texts that a value starts with', () => {
    const trie = trieOf(['a', 'abc', 'abd', 'b', '__proto__', '😀'], false)
    expect(startsFound(trie, 'abcd')).toEqual(['a', 'abc'])
    expect(startsFound(trie, 'ab')).toEqual(['a'])
    expect(startsFound(trie, '__proto__')).toEqual(['__proto__'])
    expect(startsFound(trie, '😀😀')).toEqual(['😀'])
    expect(startsFound(trie, '😁')).toEqual([])
    expect(startsFound(trie, '')).toEqual([])
  })

  it('files a text where its start distinguishes it from the others, when it is cut', () => {
    const trie = trieOf(['tenant-1/', 'tenant-2/', 'user', 'user/admin'], true)
    expect(startsFound(trie, 'tenant-2')).toEqual(['tenant-2/'])
    expect(startsFound(trie, 'user/x')).toEqual(['user', 'user/admin'])
    expect(startsFound(trie, 'tenant-')).toEqual([])
  })

  it('finds every start among any texts, cut or not', () => {
    fc.assert(
      fc.property(fc.uniqueArray(word), value, (texts, text) => {
        const starts = texts.filter((each) => text.startsWith(each)).sort()
        expect(startsFound(trieOf(texts, false), text).sort()).toEqual(starts)
        expect(
          startsFound(trieOf(texts, true), text)
            .filter((each) => text.startsWith(each))
            .sort(),
        ).toEqual(starts)
      }),
    )
  })

  it('finds every occurrence of any texts', () => {
    fc.assert(
      fc.property(fc.uniqueArray(word), value, (texts, text) => {
        const expected = texts.flatMap((each) =>
          [...text].flatMap((_, i) => (text.startsWith(each, i) ? [`${each}@${i}`] : [])),
        )
        expect(occurrencesFound(trieOf(texts, false), text)).toEqual(expected.sort())
      }),
    )
  })
})
