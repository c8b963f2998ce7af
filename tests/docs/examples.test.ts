import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

const root = new URL('../../', import.meta.url)
const run = promisify(execFile)

/** Every ```js block of the documents, with the output that its `// →` comments promise. */
function examplesOf(file: string): { title: string; code: string; expected: string[] }[] {
  const text = readFileSync(new URL(file, root), 'utf8')
  return [...text.matchAll(/^```js\n(.*?)^```$/gms)].map(([, code], i) => ({
    title: `${file}, example ${i + 1}`,
    code,
    expected: [...code.matchAll(/\/\/ → (.*)$/gm)].map(([, line]) => line),
  }))
}

const documents = [
  'README.md',
  ...readdirSync(new URL('docs/', root), { recursive: true, encoding: 'utf8' }).map((name) => `docs/${name}`),
]
const examples = documents.filter((name) => name.endsWith('.md')).flatMap(examplesOf)

describe('examples in the documents', () => {
  it('are there', () => {
    expect(examples.length).toBeGreaterThan(0)
  })

  it.each(examples)('$title prints what it says', async ({ code, expected }) => {
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', code], { cwd: root })
    expect(stdout.trimEnd().split('\n')).toEqual(expected)
  })
})
