import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { MODULES } from '../../site/pages.mjs'
import { root } from '../packages/project.suite.ts'

/** Where a name is declared: the text before the declaration ends with its comment. */
interface Declared {
  readonly file: string
  readonly before: string
}

const texts = new Map<string, string>()
function textOf(file: string): string {
  const text = texts.get(file) ?? readFileSync(file, 'utf8')
  texts.set(file, text)
  return text
}

const namesOf = (list: string): { from: string; as: string }[] =>
  list
    .split(',')
    .map((each) => each.trim().replace(/^type /, ''))
    .filter((each) => each !== '')
    .map((each) => {
      const [from = '', as = from] = each.split(' as ')
      return { from, as }
    })

/** Returns the names that a module exports, each with the name that it has within the file. */
function exportsOf(file: string): { from: string; as: string }[] {
  const text = textOf(file)
  const lists = [...text.matchAll(/^export (?:type )?\{([^}]*)\}/gms)].flatMap(([, list]) => namesOf(list))
  const own = [
    ...text.matchAll(/^export (?:declare )?(?:abstract )?(?:async )?(?:class|function|const|interface|type) (\w+)/gm),
  ]
  return [...lists, ...own.map(([, name]) => ({ from: name, as: name }))]
}

/** Follows exports and imports of a name to the file that declares it. */
function declarationOf(file: string, name: string): Declared | undefined {
  const text = textOf(file)
  const found = new RegExp(
    `^(?:export )?(?:declare )?(?:abstract )?(?:async )?(?:class|function|const|interface|type) ${name}\\b`,
    'm',
  ).exec(text)
  if (found !== null) return { file, before: text.slice(0, found.index) }
  for (const [, list, from] of text.matchAll(/^(?:export|import) (?:type )?\{([^}]*)\} from '(\.[^']*)'/gms)) {
    const names = namesOf(list).find(({ as }) => as === name)
    if (names !== undefined) return declarationOf(join(dirname(file), from), names.from)
  }
  return undefined
}

/** Returns whether a comment for readers ends right before. A decorator or a note for tools may stand between. */
const hasSentence = (before: string): boolean => /\*\/\n(?:(?:@|\/\/)[^\n]*\n)*$/.test(before)

describe('the reference of the library and the client', () => {
  it.each([...MODULES])('%s says something about everything that it exports', (_, source) => {
    const file = join(root, source)
    const names = exportsOf(file)
    expect(names.length).toBeGreaterThan(1)
    const silent = names.flatMap(({ from }) => {
      const declared = declarationOf(file, from)
      if (declared === undefined) return [`${from}: not found`]
      return hasSentence(declared.before) ? [] : [`${from}: ${declared.file.slice(root.length)} has no comment on it`]
    })
    expect(silent).toEqual([])
  })
})
