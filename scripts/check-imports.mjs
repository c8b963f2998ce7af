import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join, posix, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { findImports } from './import-lexer.mjs'
import { root } from './setup.mjs'

/** What each layer of src may import. */
export const libraryLayers = {
  core: [],
  engine: ['core'],
  stores: ['core', 'engine'],
  sources: ['core', 'engine'],
  identity: ['core'],
  'http-door': ['core', 'engine', 'stores', 'sources', 'identity'],
  library: ['core', 'engine', 'stores'],
  observers: ['core', 'engine'],
  middleware: ['core', 'engine', 'identity', 'stores', 'sources', 'http-door'],
  compat: ['core', 'engine', 'stores', 'http-door', 'middleware'],
  entries: ['core', 'identity', 'stores', 'library', 'http-door'],
  'index.ts': ['core', 'engine', 'stores', 'library'],
}

const library = (...layers) => layers.map((layer) => `sluice/${layer}`)

/** Says the same of server/src. The layers of the library are called sluice/NAME there. */
export const serverLayers = {
  net: [],
  protobuf: [],
  grpc: ['net'],
  observe: library('core', 'engine'),
  records: library('core'),
  peers: ['grpc', ...library('core', 'engine', 'stores')],
  quotas: ['records', ...library('core', 'engine')],
  ledger: ['records', 'quotas', ...library('core', 'engine')],
  simulate: ['observe', ...library('core', 'engine', 'stores')],
  edge: ['net', 'protobuf', 'grpc', ...library('core', 'engine', 'http-door')],
  admin: ['protobuf', 'grpc', 'observe', 'records', 'quotas', 'ledger', 'edge', ...library('core', 'engine', 'stores')],
  sources: ['protobuf', ...library('core', 'engine', 'sources')],
  app: [
    'grpc',
    'observe',
    'peers',
    'records',
    'quotas',
    'ledger',
    'edge',
    'admin',
    'sources',
    ...library('core', 'engine', 'stores', 'sources', 'identity', 'observers'),
  ],
  cli: ['simulate', 'app', ...library('core', 'engine', 'sources')],
}

// The packages of the repository. What is pure runs without Node.js: the layers named, or the whole package. One that
// does not depend on the library may still build parts of it in: the layers of `builtIn`.
const packages = [
  { dir: '', layers: libraryLayers, pureLayers: ['core'] },
  { dir: 'server', layers: serverLayers, pureLayers: [] },
  { dir: 'client', pure: true },
  { dir: 'dashboard', pure: true, builtIn: ['core'] },
]

const dependencyKinds = ['dependencies', 'peerDependencies']

/** Returns one line for each import that breaks a rule, and one for each cycle of files or folders. */
export function checkImports(dir = root) {
  const { devDependencies = {} } = readManifest(dir)
  return packages
    .filter((each) => existsSync(join(dir, each.dir, 'src')))
    .flatMap((each) =>
      checkPackage(
        { ...each, src: join(dir, each.dir, 'src'), librarySrc: join(dir, 'src'), devDependencies },
        join(dir, each.dir),
      ),
    )
}

function checkPackage(settings, dir) {
  const pkg = { ...settings, manifest: readManifest(dir) }
  const label = (file) => posix.join(pkg.dir, 'src', file)
  const files = listSources(pkg.src)
  const imports = files.flatMap((file) => importsOf(pkg, file))
  const misplaced = files.filter((file) => isMisplaced(pkg, file))
  return [
    ...misplaced.map((file) => `${label(file)} is in no layer (layers: ${Object.keys(pkg.layers).join(', ')})`),
    ...imports.flatMap((found) => {
      const problem = problemOf(pkg, found)
      return problem ? [`${label(found.file)}:${found.line} imports ${found.specifier}: ${problem}`] : []
    }),
    ...fileCycles(files, imports).map((cycle) => `cycle: ${cycle.map(label).join(' → ')}`),
    ...folderCycles(files, imports).map(({ cycle, proofs }) => {
      const examples = proofs.map(({ file, target }) => `${label(file)} imports ${label(target)}`)
      return `cycle of folders: ${cycle.map(label).join(' → ')} (${examples.join(', ')})`
    }),
  ]
}

const readManifest = (dir) => JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'))

function listSources(src) {
  return readdirSync(src, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => relative(src, join(entry.parentPath, entry.name)))
    .sort()
}

/** Returns the imports of a file; `target` is the imported file as a path within src, if it is a file. */
function importsOf({ src }, file) {
  return findImports(readFileSync(join(src, file), 'utf8')).map(({ specifier, line }) => {
    const target = specifier.startsWith('.') ? posix.join(posix.dirname(file), specifier) : undefined
    return { file, line, specifier, target }
  })
}

const isTestCode = (file) => /\.(test|suite)\.tsx?$/.test(file)
// The table of a kind of record is in the folder of its operations, and belongs to the layer of tables: everything that
// keeps or decides by records imports it.
const isRecordTable = (file) => /^admin\/[^/]+\/table\.ts$/.test(file)
const layerOf = (file) => (isRecordTable(file) ? 'records' : file.split('/')[0])
const isMisplaced = ({ layers }, file) => layers && !isTestCode(file) && !Object.hasOwn(layers, layerOf(file))

/** Returns the rule that an import breaks. Tests may import in every direction, but only what exists. */
function problemOf(pkg, { file, specifier, target }) {
  if (target !== undefined) return fileProblem(pkg, file, target)
  if (specifier.startsWith(INTERNAL)) return libraryProblem(pkg, file, specifier.slice(INTERNAL.length))
  return isBuiltin(specifier) ? builtinProblem(pkg, file) : packageProblem(pkg, file, specifier)
}

function fileProblem({ src, layers }, file, target) {
  if (!existsSync(join(src, target))) return 'there is no such file'
  if (isTestCode(file)) return undefined
  if (target.startsWith('..')) return 'a source may import nothing outside of its src'
  if (isTestCode(target)) return 'only tests may import tests, which are not part of the build'
  return layerProblem(layers, layerOf(file), layerOf(target))
}

function layerProblem(layers, from, to) {
  const allowed = layers?.[from]
  if (allowed === undefined || from === to || allowed.includes(to)) return undefined
  return `layer ${from} may not import layer ${to} (allowed: ${allowed.join(', ') || 'none'})`
}

/** What one package of this repository takes from the sources of the library, which others may not rely on. */
const INTERNAL = 'sluice/internal/'

function libraryProblem({ librarySrc, layers, builtIn, manifest }, file, path) {
  if (builtIn === undefined && manifest.devDependencies?.sluice === undefined) {
    return 'only a package that has sluice among its devDependencies may import its parts'
  }
  if (!existsSync(join(librarySrc, `${path}.ts`))) return 'there is no such file'
  if (isTestCode(file)) return undefined
  if (builtIn !== undefined && !builtIn.includes(layerOf(path))) {
    return `package ${manifest.name} may build in only ${builtIn.join(', ')} of sluice`
  }
  return layerProblem(layers, layerOf(file), `sluice/${layerOf(path)}`)
}

function builtinProblem({ manifest, pure, pureLayers }, file) {
  if (isTestCode(file)) return undefined
  if (pure) return `package ${manifest.name} may not import Node.js modules`
  if (pureLayers.includes(layerOf(file))) return `layer ${layerOf(file)} may not import Node.js modules`
  return undefined
}

function packageProblem({ manifest, devDependencies }, file, specifier) {
  const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
  if (isTestCode(file) && Object.hasOwn(devDependencies, name)) return undefined
  if (dependencyKinds.some((kind) => Object.hasOwn(manifest[kind] ?? {}, name))) return undefined
  return `package ${name} is not among the ${dependencyKinds.join(' or ')} of package.json`
}

function fileCycles(files, imports) {
  const known = new Set(files)
  const edges = imports.filter(({ target }) => known.has(target)).map(({ file, target }) => [file, target])
  return findCycles(files, edges)
}

/**
 * Returns the cycles between folders, each with one import for every step. A folder is the directory of a file: a
 * directory inside of another is a separate folder. Tests belong to no folder.
 */
function folderCycles(files, imports) {
  const sources = new Set(files.filter((file) => !isTestCode(file)))
  const steps = new Map()
  for (const each of imports) {
    const [from, to] = [folderOf(each.file), folderOf(each.target ?? '')]
    const isStep = from !== to && sources.has(each.file) && sources.has(each.target)
    if (isStep && !steps.has(`${from} ${to}`)) steps.set(`${from} ${to}`, { ...each, from, to })
  }
  const edges = [...steps.values()].map(({ from, to }) => [from, to])
  return findCycles([...new Set(edges.flat())].sort(), edges).map((cycle) => ({
    cycle,
    proofs: cycle.slice(1).map((to, i) => steps.get(`${cycle[i]} ${to}`)),
  }))
}

const folderOf = (file) => (isRecordTable(file) ? 'records' : posix.dirname(file))

/** Returns paths a → b → a, at least one for every knot of nodes that lead to each other. */
function findCycles(nodes, edges) {
  const targetsOf = new Map(nodes.map((node) => [node, new Set()]))
  for (const [from, to] of edges) targetsOf.get(from).add(to)

  const cycles = []
  const visited = new Set()
  const visit = (node, path) => {
    if (path.includes(node)) cycles.push([...path.slice(path.indexOf(node)), node])
    if (visited.has(node)) return
    visited.add(node)
    for (const target of targetsOf.get(node)) visit(target, [...path, node])
  }
  for (const node of nodes) visit(node, [])
  return cycles
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const problems = checkImports()
  for (const problem of problems) console.error(problem)
  process.exitCode = problems.length > 0 ? 1 : 0
}
