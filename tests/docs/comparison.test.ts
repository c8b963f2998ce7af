import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const root = new URL('../../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8')
const page = read('docs/comparison.md')
const { devDependencies } = JSON.parse(read('package.json')) as { devDependencies: Record<string, string> }
const OTHERS = [
  'envoyproxy/ratelimit',
  'Gubernator',
  'Limitador',
  'Kong',
  'express-rate-limit',
  'rate-limiter-flexible',
  '@upstash/ratelimit',
]

/** Returns the cells of a row by the heads of its table; `table` counts from 0. */
function rowOf(name: string, table: number): Record<string, string> {
  const cellsOf = (line: string): string[] =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim())
  const heads = page.split('\n').filter((line) => line.startsWith('| | Sluice |'))
  const rows = page.split('\n').filter((line) => line.startsWith(`| ${name} |`))
  const cells = cellsOf(rows[table])
  return Object.fromEntries(cellsOf(heads[table]).map((head, i) => [head, cells[i]]))
}

describe('docs/comparison.md', () => {
  it('is dated, and says of each version which one it is about', () => {
    expect(page).toMatch(/^As of \w+ 20\d\d\./m)
    const looked = { ...rowOf('looked at', 0), ...rowOf('looked at', 1) }
    for (const name of OTHERS) expect(looked[name], name).toMatch(/\[(main of )?\d+[.-]\d+[.-]\d+\]\(https:/)
  })

  it('is about the versions that are measured here', () => {
    const looked = rowOf('looked at', 1)
    for (const name of ['express-rate-limit', 'rate-limiter-flexible']) {
      expect(looked[name]).toContain(`[${devDependencies[name]}]`)
    }
  })

  it.each(OTHERS)('says when to choose %s', (name) => {
    const [, section = ''] = new RegExp(`^### ${name}\n(.*?)(?=^##)`, 'ms').exec(page) ?? []
    expect(section).toContain('**Choose it**')
  })
})
