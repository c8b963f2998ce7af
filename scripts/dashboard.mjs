import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { extname, join, relative, sep } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

const compress = {
  br: (bytes) =>
    promisify(brotliCompress)(bytes, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
        [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
      },
    }),
  gzip: (bytes) => promisify(gzip)(bytes, { level: constants.Z_BEST_COMPRESSION }),
}

/** The suffix of a file's compressed forms, by coding. */
export const suffixes = { identity: '', br: '.br', gzip: '.gz' }

const types = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

const manifestName = 'manifest.json'
const licensesName = 'licenses.txt'

const dashboardDir = (root) => join(root, 'server', 'dist', 'dashboard')

/** The files of the built dashboard that have a fixed name. */
export function dashboardOutputs(root) {
  return ['index.html', manifestName, licensesName].map((name) => join(dashboardDir(root), name))
}

/**
 * What the dashboard is made of, in addition to the files of dashboard/src: the playground runs the algorithms
 * themselves.
 */
export const dashboardSettings = ['package-lock.json', 'dashboard/index.html', 'dashboard/vite.config.ts']
export const dashboardSources = ['dashboard/src', 'dashboard/public', 'src/core']

/** Builds the pages that the admin port serves, compressed and listed. */
export async function writeDashboard(root) {
  // Without its list, an incomplete dashboard is not served.
  rmSync(join(dashboardDir(root), manifestName), { force: true })
  // Not there before the first installation.
  const { build } = await import('vite')
  const { output } = await build({ configFile: join(root, 'dashboard', 'vite.config.ts'), logLevel: 'warn' })
  writeFileSync(join(dashboardDir(root), licensesName), licensesOf(root, output))
  await packFiles(dashboardDir(root))
}

/**
 * Compresses every file of a folder, once and as well as it can be, and writes a list of them: by the path that each is
 * asked for, its type, a digest of it, and the bytes of each coding that is worth sending.
 */
export async function packFiles(dir) {
  const paths = readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && ![manifestName, licensesName].includes(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
  const files = {}
  for (const path of paths) files[`/${relative(dir, path).replaceAll(sep, '/')}`] = await packFile(path)
  writeFileSync(join(dir, manifestName), `${JSON.stringify({ files }, null, 2)}\n`)
}

async function packFile(path) {
  const type = types[extname(path)]
  if (type === undefined) throw new Error(`${path}: its type is unknown; add it to scripts/dashboard.mjs`)
  const content = readFileSync(path)
  const bytes = { identity: content.length }
  for (const [coding, pack] of Object.entries(compress)) {
    const packed = await pack(content)
    if (packed.length >= content.length) continue
    bytes[coding] = packed.length
    writeFileSync(path + suffixes[coding], packed)
  }
  return { type, hash: createHash('sha256').update(content).digest('base64url').slice(0, 22), bytes }
}

/** The licences of the packages whose code the pages contain. */
function licensesOf(root, output) {
  const ids = output.flatMap(({ moduleIds = [] }) => moduleIds)
  const names = ids.flatMap((id) => /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules\/)/.exec(id)?.[1] ?? [])
  const { dependencies } = JSON.parse(readFileSync(join(root, 'dashboard', 'package.json'), 'utf8'))
  const packages = [...new Set([...names, ...Object.keys(dependencies)])].sort()
  return packages.map((name) => licenseOf(join(root, 'node_modules', name))).join('\n')
}

function licenseOf(dir) {
  const { name, version } = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'))
  const file = ['LICENSE', 'LICENSE.md', 'LICENSE.txt'].map((each) => join(dir, each)).find((each) => existsSync(each))
  if (file === undefined) throw new Error(`${name} has no file with its licence`)
  return `${name} ${version}\n\n${readFileSync(file, 'utf8').trim()}\n`
}
