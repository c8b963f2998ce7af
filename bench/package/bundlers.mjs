import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { rolldown, VERSION } from 'rolldown'
import { npm, SetupError } from '../../scripts/setup.mjs'

const here = fileURLToPath(new URL('.', import.meta.url))
const require = createRequire(import.meta.url)

/** peerPath is where a package is that only the benchmark has. */
export const peerPath = (name) => join(here, 'node_modules', name)

/** ensureBundlers installs what is in package-lock.json next to this file, once. */
export async function ensureBundlers() {
  if (existsSync(peerPath('webpack'))) return
  const { ok, text } = await npm(['ci', '--prefix', here, '--workspaces=false', '--prefer-offline'], true)
  if (!ok) throw new SetupError(`installing the bundlers failed:\n${text.trimEnd()}`)
}

const versionOf = (name) => JSON.parse(readFileSync(join(peerPath(name), 'package.json'), 'utf8')).version

function sizesOf(file) {
  const code = readFileSync(file)
  return { minified: code.length, gzip: gzipSync(code, { level: 9 }).length }
}

/** Returns the bundler whose program is at a path. */
export const esbuildAt = (program) => async (folder, app) => {
  const out = join(folder, 'esbuild.js')
  const args = [app, '--bundle', '--minify', '--platform=node', '--format=esm', `--outfile=${out}`, '--log-level=error']
  await promisify(execFile)(program, args, { cwd: folder })
  return sizesOf(out)
}

export async function withRolldown(folder, app) {
  const file = join(folder, 'rolldown.js')
  const bundle = await rolldown({ cwd: folder, input: app, platform: 'node', logLevel: 'silent' })
  await bundle.write({ file, format: 'esm', minify: true, codeSplitting: false })
  await bundle.close()
  return sizesOf(file)
}

async function withWebpack(folder, app) {
  const webpack = require('webpack')
  const settings = {
    context: folder,
    mode: 'production',
    target: 'node20',
    entry: `./${app}`,
    experiments: { outputModule: true },
    output: { path: folder, filename: 'webpack.js', library: { type: 'module' } },
    plugins: [new webpack.optimize.LimitChunkCountPlugin({ maxChunks: 1 })],
  }
  const stats = await promisify(webpack)(settings)
  if (stats.hasErrors()) throw new Error(stats.toString({ all: false, errors: true }))
  return sizesOf(join(folder, 'webpack.js'))
}

/** Each bundles a file of a folder into one, minified, and returns its size. */
export const bundlers = [
  {
    name: 'esbuild',
    version: '0.28.2',
    bundle: esbuildAt(join(peerPath('@esbuild/linux-x64'), 'bin', 'esbuild')),
  },
  { name: 'rolldown', version: VERSION, bundle: withRolldown },
  {
    name: 'webpack',
    get version() {
      return versionOf('webpack')
    },
    bundle: withWebpack,
  },
]
