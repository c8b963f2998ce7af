import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../packages/project.suite.ts'

const DOCUMENTS = ['CONTRIBUTING.md', 'docs/architecture.md', 'docs/walk.md']
/** Folders that a document may leave out in front of a path. */
const BASES = [
  '',
  'src/',
  'server/src/',
  'server/src/edge/',
  'server/src/sources/',
  'src/stores/redis/',
  'src/stores/redis/scripts/',
  'src/sources/',
]
/** Folders that are built, and so are not in the repository. */
const BUILT = /^(?:server\/dist|site\/(?:content|dist)|node_modules)(?:\/|$)/
/** Words in capitals that stand for a name, such as `NAME`. */
const PLACEHOLDER = /\b(?:NAME|RECORD|VIEW|GROUP|PATH|TEXT|FILE|FOLDER|N|THE_CODE)\b/

/** Not looked into: what is installed or built. */
const SKIPPED = new Set(['node_modules', 'dist', '.git', '.sluice', 'content'])

const paths = new Set<string>()
const files: string[] = []
walk('')
const sources = files.filter((file) =>
  /^(?:src|server|client|dashboard|scripts|tests|site)\/.*\.(?:ts|tsx|mjs)$/.test(file),
)

/** Every identifier in the sources. */
const words = new Set(
  [...sources, 'package.json'].flatMap((file) => readFileSync(join(root, file), 'utf8').match(/[A-Za-z_]\w*/g) ?? []),
)

function walk(folder: string): void {
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    if (SKIPPED.has(entry.name)) continue
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`
    paths.add(path)
    if (entry.isDirectory()) walk(path)
    else if (entry.isFile()) files.push(path)
  }
}

/** Returns the code that a document names between backticks, without blocks of code. */
function namedIn(document: string): string[] {
  const text = readFileSync(join(root, document), 'utf8').replace(/^```.*?^```/gms, '')
  return [...text.matchAll(/`([^`\n]+)`/g)].map(([, code]) => code).filter((code) => !PLACEHOLDER.test(code))
}

function isPath(path: string): boolean {
  return BASES.some((base) => ['', '.ts', '.lua', '.mjs'].some((suffix) => paths.has(`${base}${path}${suffix}`)))
}

describe.each(DOCUMENTS)('%s', (document) => {
  it('names paths that exist', () => {
    const named = namedIn(document)
      .filter((code) => /^[\w.-]+(?:\/[\w.-]+)+\/?$/.test(code) && !code.startsWith('sluice/') && !BUILT.test(code))
      .map((code) => code.replace(/\/$/, ''))
    expect(named.length).toBeGreaterThan(10)
    expect(named.filter((path) => !isPath(path))).toEqual([])
  })

  it('names files, types and functions that exist', () => {
    const names = namedIn(document).filter((code) =>
      /^(?:[A-Z][a-z]+[A-Z]\w*|[a-z]+[A-Z]\w*|[A-Z]+_[A-Z_]+)$/.test(code),
    )
    expect(names.filter((name) => !words.has(name))).toEqual([])
    const bare = namedIn(document).filter((code) => /^[\w-]+(?:\.[a-z]+)*\.(?:ts|mjs|lua)$/.test(code))
    expect(bare.filter((name) => !files.some((file) => file === name || file.endsWith(`/${name}`)))).toEqual([])
  })
})
