import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { requireTracePackages } from '../../server/src/app/traces/trace-packages.ts'
import { DECISION_REASONS } from '../../server/src/observe/decision-reason.ts'

const page = readFileSync(new URL('../../docs/observability.md', import.meta.url), 'utf8')
const sectionOf = (title: string): string => page.split(/^## /m).find((part) => part.startsWith(`${title}\n`)) ?? ''

/** Returns the first cells of the table whose first column has a title. */
function rowsOf(section: string, column: string): string[] {
  const table = section.split('\n\n').find((part) => part.startsWith(`| ${column} |`)) ?? ''
  const cells = table
    .split('\n')
    .slice(2)
    .map((line) => line.split(' | ')[0])
  return cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name))
}

describe('docs/observability.md', () => {
  it('lists every reason of the decision log, and no other', () => {
    expect(rowsOf(sectionOf('Decision log'), 'reason')).toEqual([...DECISION_REASONS])
  })

  it('shows a line of the decision log, with fields that it lists in their order', () => {
    const [, line] = /^```json\n(.*?)\n```$/m.exec(sectionOf('Decision log')) ?? []
    const shown = Object.keys(JSON.parse(line) as object)
    expect(rowsOf(sectionOf('Decision log'), 'field').filter((field) => shown.includes(field))).toEqual(shown)
  })

  it('shows the command that the service asks for when packages are missing', () => {
    const [, command] = /^(npm install @opentelemetry.*)$/m.exec(sectionOf('Traces')) ?? []
    const missing = (): never => {
      throw new Error('missing')
    }
    expect(() => requireTracePackages({ protocol: 'http/protobuf', askedBy: 'x' }, missing)).toThrow(command)
  })
})
