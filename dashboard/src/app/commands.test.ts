import { expect, test } from 'vitest'
import { type Command, found } from './commands.ts'

const command = (text: string, words = ''): Command => ({ text, words, icon: 'now', kind: 'page', run: () => {} })
const all = [
  command('Now'),
  command('Blocks', 'ban deny'),
  command('Customers'),
  command('Log out'),
  command('Unblock'),
]
const texts = (typed: string): string[] => found(typed, all).map(({ text }) => text)

test('without a word, everything is found in its order', () => {
  expect(texts(' ')).toEqual(all.map(({ text }) => text))
})

test('all words have to be there, in any order and in any case', () => {
  expect(texts('OUT log')).toEqual(['Log out'])
  expect(texts('log in')).toEqual([])
})

test('a command is found by words that it does not show', () => {
  expect(texts('ban')).toEqual(['Blocks'])
})

test('what begins with the first word comes before what only has it', () => {
  expect(found('out', [command('Log out'), command('Outlook')]).map(({ text }) => text)).toEqual(['Outlook', 'Log out'])
})
