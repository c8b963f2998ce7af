import { expect, test } from 'vitest'
import { changeCount, diffLines, hunksOf, linesOf } from './line-diff.ts'

const SIGNS = { same: ' ', gone: '-', new: '+' }
const shortened = (before: string, after: string): string[] =>
  diffLines(before, after).map(({ kind, text }) => `${SIGNS[kind]}${text}`)

test.each([
  ['nothing changes', 'a\nb', 'a\nb', [' a', ' b']],
  ['a line is changed', 'a\nb\nc', 'a\nB\nc', [' a', '-b', '+B', ' c']],
  ['a line is added at the end', 'a\n', 'a\nb\n', [' a', '+b']],
  ['a line is removed at the beginning', 'a\nb', 'b', ['-a', ' b']],
  ['a text is new', '', 'a\nb', ['+a', '+b']],
  ['a text is emptied', 'a', '', ['-a']],
  ['lines in between are kept', 'a\nx\nb\ny\nc', 'a\nx2\nb\ny2\nc', [' a', '-x', '+x2', ' b', '-y', '+y2', ' c']],
  ['a repeated line is matched once', 'a\na\nb', 'a\nb', [' a', '-a', ' b']],
])('%s', (_, before, after, expected) => {
  expect(shortened(before, after)).toEqual(expected)
})

test('each line has its number on the sides on which it stands', () => {
  expect(diffLines('a\nb\nc', 'a\nc\nd').map(({ before, after }) => [before, after])).toEqual([
    [1, 1],
    [2, undefined],
    [3, 2],
    [undefined, 3],
  ])
})

test('line ends of Windows, and one at the end of the text, are no change', () => {
  expect(changeCount(diffLines('a\r\nb\r\n', 'a\nb'))).toEqual({ added: 0, removed: 0 })
  expect(linesOf('a\n\n')).toEqual(['a', ''])
})

test('both sides can be put together again from a difference, whatever changed', () => {
  let seed = 7
  const next = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return seed % below
  }
  for (let round = 0; round < 200; round++) {
    const text = (): string[] => Array.from({ length: next(12) }, () => 'abcd'[next(4)])
    const [before, after] = [text(), text()]
    const lines = diffLines(before.join('\n'), after.join('\n'))
    const of = (left: string): string[] => lines.filter(({ kind }) => kind !== left).map((line) => line.text)
    expect(of('new')).toEqual(before)
    expect(of('gone')).toEqual(after)
  }
})

test('texts that are too long to compare are shown as replaced', () => {
  const many = (word: string): string => Array.from({ length: 5_000 }, (_, i) => `${word}${i % 7}`).join('\n')
  const lines = diffLines(`head\n${many('a')}`, `head\n${many('b')}`)
  expect(changeCount(lines)).toEqual({ added: 5_000, removed: 5_000 })
})

test('hunks leave out what is far from a change, and say how much', () => {
  const before = Array.from({ length: 30 }, (_, i) => `line ${i}`)
  const after = before.with(10, 'changed').with(12, 'changed too').with(25, 'and this')
  const hunks = hunksOf(diffLines(before.join('\n'), after.join('\n')), 1)
  expect(hunks.map(({ skipped, lines }) => [skipped, lines.length])).toEqual([
    [9, 7],
    [10, 4],
  ])
})

test('without a change there is no hunk', () => {
  expect(hunksOf(diffLines('a\nb', 'a\nb'))).toEqual([])
})
