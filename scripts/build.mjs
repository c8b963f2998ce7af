import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { bundleOutputs, writeBundle } from './bundle.mjs'
import { compile } from './compiler.mjs'
import { dashboardOutputs, dashboardSettings, dashboardSources, writeDashboard } from './dashboard.mjs'
import { dashboardApi } from './dashboard-types.mjs'
import { entryOutputs, writeEntries } from './entries.mjs'
import { writeLuaModules } from './lua.mjs'
import { ensureInstalled, readStamp, requireNode, root, run, runMain, SetupError, say, writeStamp } from './setup.mjs'

const buildStamp = join('node_modules', '.cache', 'sluice-build.json')
const dashboardStamp = join('node_modules', '.cache', 'sluice-dashboard.json')

const library = { dir: '', project: 'tsconfig.build.json', buildInfo: 'node_modules/.cache/sluice.tsbuildinfo' }
const server = {
  dir: 'server',
  project: 'server/tsconfig.build.json',
  buildInfo: 'node_modules/.cache/sluice-server.tsbuildinfo',
}
const client = {
  dir: 'client',
  project: 'client/tsconfig.build.json',
  buildInfo: 'node_modules/.cache/sluice-client.tsbuildinfo',
}
const packages = [library, server, client]

/** Builds what changed since the last build, and returns whether there was anything to build. */
export async function ensureBuilt() {
  writeLuaModules()
  const fingerprint = sourceFingerprint()
  if (readStamp(root, buildStamp) === fingerprint && packages.every(outputsExist) && isBundled()) return false
  // The server is compiled against the library's declarations.
  await Promise.all([buildPackage(library).then(() => buildPackage(server)), buildPackage(client)])
  await writeDashboardApi()
  await Promise.all([writeEntries(root), writeEntries(join(root, 'client')), writeBundle(root), ensureDashboard()])
  writeStamp(root, buildStamp, fingerprint)
  return true
}

/** Has a process of its own read the operations of the service that was just built: this one may know older ones. */
async function writeDashboardApi() {
  const { ok, text } = await run(process.execPath, [join(root, 'scripts', 'dashboard-types.mjs')], { capture: true })
  if (!ok) throw new SetupError(`the types of the dashboard were not written:\n${text.trimEnd()}`)
}

/** Builds the pages only when something changed that they are made of: they take longer than all else. */
async function ensureDashboard() {
  const fingerprint = dashboardFingerprint()
  if (readStamp(root, dashboardStamp) === fingerprint && dashboardOutputs(root).every((output) => existsSync(output)))
    return
  await writeDashboard(root)
  writeStamp(root, dashboardStamp, fingerprint)
}

/** Changes when something changes that the dashboard is made of. */
export function dashboardFingerprint(dir = root) {
  const sources = dashboardSources.flatMap((each) => listFiles(join(dir, each))).filter((path) => !isTestCode(path))
  return fingerprintOf([...sources, ...dashboardSettings.map((path) => join(dir, path))])
}

/** Changes when a source, a compiler option or the compiler changes. */
export function sourceFingerprint(dir = root) {
  const dirs = [...packages.map((each) => each.dir), 'dashboard']
  const written = new Set(dashboardApi.map((path) => join(dir, path)))
  const sources = [...dirs.map((each) => join(each, 'src')), 'dashboard/public']
    .flatMap((each) => listFiles(join(dir, each)))
    .filter((path) => !written.has(path))
  const settings = [
    'package-lock.json',
    'package.json',
    'client/package.json',
    ...['bundle', 'declarations', 'entries'].map((name) => `scripts/${name}.mjs`),
    'tsconfig.json',
    'dashboard/index.html',
    'dashboard/vite.config.ts',
    ...packages.map(({ project }) => project),
  ]
  return fingerprintOf([...sources, ...settings.map((path) => join(dir, path))])
}

function fingerprintOf(paths) {
  const hash = createHash('sha256')
  for (const path of paths) {
    const { mtimeMs, size } = statSync(path)
    hash.update(`${path}\0${mtimeMs}\0${size}\n`)
  }
  return hash.digest('hex')
}

function listFiles(dir) {
  if (!existsSync(dir)) return []
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
}

const isTestCode = (path) => /\.(test|suite)\.tsx?$/.test(path)
const isTypeScript = (path) => path.endsWith('.ts')

/** Lua is in a module of its folder (scripts/lua.mjs). */
const isInModule = (path) => path.endsWith('.lua')

/** Maps each file that dist must hold to its source. Files that are not code are copied. */
export function plannedOutputs(packageDir) {
  const srcDir = join(packageDir, 'src')
  const outputs = new Map()
  for (const source of listFiles(srcDir)) {
    if (isTestCode(source) || isInModule(source) || source.endsWith('.d.ts')) continue
    const output = join(packageDir, 'dist', source.slice(srcDir.length + 1))
    outputs.set(isTypeScript(source) ? output.replace(/\.ts$/, '.js') : output, source)
  }
  return outputs
}

const outputsExist = ({ dir }) => [...plannedOutputs(join(root, dir)).keys()].every((output) => existsSync(output))

const isBundled = () =>
  [
    ...bundleOutputs(root),
    ...dashboardOutputs(root),
    ...dashboardApi.map((path) => join(root, path)),
    ...entryOutputs(root),
    ...entryOutputs(join(root, 'client')),
  ].every((output) => existsSync(output))

async function buildPackage({ dir, project, buildInfo }) {
  const packageDir = join(root, dir)
  const outputs = plannedOutputs(packageDir)
  // The incremental compiler trusts its notes and would not write a file that was deleted.
  if (!outputsExist({ dir })) rmSync(join(root, buildInfo), { force: true })
  removeOrphans(packageDir, outputs)
  const { ok, text } = await compile(project)
  if (!ok) throw new SetupError(`the build failed (${project}):\n${text.trimEnd()}`)
  copyAssets(outputs)
}

/** Removes what an earlier build wrote for a source that is gone. A bundle and the dashboard have no source each. */
export function removeOrphans(packageDir, outputs = plannedOutputs(packageDir)) {
  const bundle = join(packageDir, 'dist', 'bundle')
  const dashboard = join(packageDir, 'dist', 'dashboard') + sep
  for (const file of listFiles(join(packageDir, 'dist'))) {
    if (dirname(file) === bundle || file.startsWith(dashboard)) continue
    const output = file.replace(/\.d\.ts$/, '.js')
    if (!outputs.has(file) && !outputs.has(output)) rmSync(file)
  }
}

function copyAssets(outputs) {
  for (const [output, source] of outputs) {
    if (isTypeScript(source)) continue
    mkdirSync(dirname(output), { recursive: true })
    copyFileSync(source, output)
  }
}

async function main() {
  requireNode()
  await ensureInstalled()
  say((await ensureBuilt()) ? 'built' : 'the build is up to date')
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) await runMain(main)
