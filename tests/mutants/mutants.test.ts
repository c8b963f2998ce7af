import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

interface Mutant {
  readonly file: string
  readonly find: string
  readonly replace: string
  readonly tests: readonly string[]
  readonly why: string
}

const root = new URL('../../', import.meta.url)
const textOf = (path: string): string => readFileSync(new URL(path, root), 'utf8')
const lists = readdirSync(new URL('.', import.meta.url)).filter((name) => name.endsWith('.json'))

describe.each(lists)('the mistakes of %s', (list) => {
  const mutants = JSON.parse(textOf(`tests/mutants/${list}`)) as readonly Mutant[]

  it('can all be made: what they change stands once in its file', () => {
    const stale = mutants.filter(({ file, find }) => textOf(file).split(find).length !== 2)
    expect(stale.map(({ file, find }) => `${file}: ${find}`)).toEqual([])
  })

  it('name tests that are there', () => {
    const paths = new Set(mutants.flatMap(({ tests }) => tests))
    for (const path of paths) expect(textOf(path)).toContain('it')
  })
})
