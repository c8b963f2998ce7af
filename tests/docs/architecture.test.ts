import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { libraryLayers, serverLayers } from '../../scripts/check-imports.mjs'
import { root } from '../packages/project.suite.ts'

const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8')

/** A Row is one line of a table of folders: what its first cell names, and its last cell. */
interface Row {
  readonly folders: readonly string[]
  readonly last: string
}

/** Reads a line. The first name of its first cell is a path, the others are folders next to that one. */
function rowOf(line: string): Row {
  const cells = line.split('|').slice(1, -1)
  const [first = '', ...others] = [...(cells[0] ?? '').matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)
  const parent = first.slice(0, first.lastIndexOf('/'))
  return { folders: [first, ...others.map((name) => `${parent}/${name}`)], last: cells.at(-1)?.trim() ?? '' }
}

const rows = page
  .split('\n')
  .filter((line) => /^\| `(?:server\/)?src\//.test(line))
  .map(rowOf)

const isSource = (name: string): boolean => !/\.(test|suite)\.tsx?$/.test(name)
const entriesOf = (folder: string) => readdirSync(join(root, folder), { withFileTypes: true })

/** hasSources is false of a folder that only tests need. */
const hasSources = (folder: string): boolean =>
  entriesOf(folder).some((each) => (each.isDirectory() ? hasSources(`${folder}/${each.name}`) : isSource(each.name)))

const foldersIn = (folder: string): string[] =>
  entriesOf(folder)
    .filter((each) => each.isDirectory())
    .map((each) => `${folder}/${each.name}`)
    .filter(hasSources)

type Layers = Readonly<Record<string, readonly string[]>>

const importersOf = (layers: Layers, layer: string): string[] =>
  Object.keys(layers).filter((each) => !each.endsWith('.ts') && layers[each]?.includes(layer))

/** Writes a list of layers as the page has it. */
function importedBy(folder: string): string {
  const layer = folder.slice(folder.lastIndexOf('/') + 1)
  if (folder.startsWith('server/')) return importersOf(serverLayers, layer).join(', ')
  const inServer = importersOf(serverLayers, `sluice/${layer}`).join(', ')
  const inLibrary = importersOf(libraryLayers, layer).join(', ')
  return [inLibrary, inServer === '' ? '' : `in the server: ${inServer}`].filter((part) => part !== '').join('; ')
}

describe.each(['src', 'server/src'])('docs/architecture.md on %s', (source) => {
  const layers = foldersIn(source)

  it('has every folder of the first two levels, and no other', () => {
    const named = rows.flatMap(({ folders }) => folders).filter((folder) => folder.startsWith(`${source}/`))
    expect(named.sort()).toEqual([...layers, ...layers.flatMap(foldersIn)].sort())
  })

  it('says of each layer what imports it, as npm run check:imports has it', () => {
    const said = layers.map((layer) => `${layer}: ${rows.find(({ folders: [first] }) => first === layer)?.last}`)
    expect(said).toEqual(layers.map((layer) => `${layer}: ${importedBy(layer)}`))
  })
})

describe('docs/architecture.md', () => {
  it('speaks of no folder or file that does not exist', () => {
    const named = [...page.matchAll(/(?<![\w/.])(?:server\/|client\/|dashboard\/)?src(?:\/[\w.-]*\w)+/g)].map(
      ([path]) => path,
    )
    expect(named.length).toBeGreaterThan(rows.length)
    expect(named.filter((path) => !existsSync(join(root, path)) && !existsSync(join(root, `${path}.ts`)))).toEqual([])
  })
})
