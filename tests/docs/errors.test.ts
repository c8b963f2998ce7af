import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ERROR_RULES } from '../../src/core/error-rules.ts'

const page = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8')

/** The rows of the page's tables whose first cell is a code: [code, rule, when, what to do]. */
const rows = page
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => line.slice(2, -2).split(' | '))

describe('docs/errors.md', () => {
  it('has a row for every code, and no other', () => {
    expect(rows.map(([code]) => code.replaceAll('`', '')).sort()).toEqual(Object.keys(ERROR_RULES).sort())
  })

  it.each(Object.entries(ERROR_RULES))('states the rule of %s word for word', (code, rule) => {
    const [, stated] = rows.find(([cell]) => cell === `\`${code}\``) ?? []
    expect(stated?.replaceAll('\\_', '_')).toBe(rule)
  })

  it.each(rows)('says of %s when one meets it and what to do', (...row) => {
    expect(row).toHaveLength(4)
    for (const cell of row.slice(2)) expect(cell).toMatch(/^[A-Z`].{10,}\.$/)
  })
})
