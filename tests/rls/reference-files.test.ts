import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { loadRules } from '../../src/core/rules/load.ts'
import { RulesError } from '../../src/core/rules/problems.ts'
import { FILE_DIFFERENCES } from './reference-files.ts'

/*
 * Which rule files envoyproxy/ratelimit reads, and which it refuses, and what becomes of the same files here. What differs
 * is listed, with its reason.
 */

interface File {
  readonly text: string
  /** What it is refused for there; null: it is read. */
  readonly refused: string | null
}

const path = new URL('../fixtures/reference/rule-files.json', import.meta.url)
const { files } = JSON.parse(readFileSync(path, 'utf8')) as { files: Readonly<Record<string, File>> }

/** Says why a file is refused here, if it is. */
function refusalOf(text: string): string | null {
  try {
    loadRules([{ file: 'rules.yaml', text }])
    return null
  } catch (error) {
    if (error instanceof RulesError) return error.message
    throw error
  }
}

const listed = new Map(
  FILE_DIFFERENCES.flatMap(({ files: names, there }) => names.map((name) => [name, there] as const)),
)

describe('a rule file of envoyproxy/ratelimit', () => {
  it.each(Object.entries(files))(
    'with %s is read or refused as there, unless it is listed',
    (name, { text, refused }) => {
      const ours = refusalOf(text)
      expect({ isRefused: ours !== null, ours, theirs: refused }).toMatchObject({
        isRefused: listed.has(name) ? listed.get(name) === 'read' : refused !== null,
      })
    },
  )

  it('that is listed is one that was asked about', () => {
    expect([...listed.keys()].filter((name) => files[name] === undefined)).toEqual([])
  })
})
