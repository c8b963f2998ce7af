import { expect, test } from 'vitest'
import { findImports } from './import-lexer.mjs'

const specifiers = (source) => findImports(source).map(({ specifier }) => specifier)

test.each([
  [`import './a.ts'`],
  [`import a from './a.ts'`],
  [`import a, { b } from "./a.ts"`],
  [`import * as a from './a.ts'`],
  [`import type { A } from './a.ts'`],
  [`import { type A, b as c } from './a.ts'`],
  [`import from from './a.ts'`],
  [`import { from } from './a.ts'`],
  [`import { 'some name' as a } from './a.ts'`],
  [`import {\n  a,\n  // from './no.ts'\n  b,\n} from './a.ts'`],
  [`import a/* from './no.ts' */from'./a.ts'`],
  [`import data from './a.ts' with { type: 'json' }`],
  [`export * from './a.ts'`],
  [`export * as a from './a.ts'`],
  [`export { a } from './a.ts'`],
  [`export type { A } from './a.ts'`],
  [`const a = await import('./a.ts')`],
  [`const a = await import(/* lazy */ './a.ts')`],
  [`type A = import('./a.ts').A`],
  [`const text = \`\${await import('./a.ts')} import './no.ts'\``],
  [`const text = \`\${{ a: \`\${1}\` }}\`; import('./a.ts')`],
  [`const half = a / 2; import('./a.ts'); const third = b / 3`],
  [`const quote = /['"\`]/; import('./a.ts')`],
  [`const slash = /[/'"]\\/'/g; import('./a.ts')`],
  [`export { a }\nimport b from './a.ts'`],
])('%j imports ./a.ts', (source) => {
  expect(specifiers(source)).toEqual(['./a.ts'])
})

test.each([
  [`// import './no.ts'`],
  [`/* import './no.ts' */`],
  [`const text = "import './no.ts'"`],
  [`const text = 'it\\'s import "./no.ts"'`],
  [`const text = \`import './no.ts'\``],
  [`const text = \`\\\`import './no.ts'\``],
  [`const pattern = /import '.\\/no.ts'/`],
  [`const url = import.meta.url; const from = './no.ts'`],
  [`loader.import('./no.ts')`],
  [`const options = { import: './no.ts', export: './no.ts' }`],
  [`export const from = './no.ts'`],
  [`export { a }\nconst b = './no.ts'`],
  [`export interface Range { from: string; to: string }`],
  [`await import(name)`],
  [`await import('./' + name)`],
])('%j imports nothing', (source) => {
  expect(specifiers(source)).toEqual([])
})

test('each import has the line on which it starts', () => {
  const source = `/*\n*/\nimport a from './a.ts'\n\nimport {\n  b,\n} from './b.ts'\n`
  expect(findImports(source)).toEqual([
    { specifier: './a.ts', line: 3 },
    { specifier: './b.ts', line: 5 },
  ])
})
