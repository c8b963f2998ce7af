import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/**
 * A start of the service reads a few files in place of three hundred, which is most of the time that it takes. They are
 * made of the compiled files, in one flat folder: code that finds a file next to itself or in the package (threads,
 * workers, examples) finds it from there too. Names and lines stay readable, for stacks.
 */
const bundleDir = 'dist/bundle'

const entries = {
  main: 'server/dist/cli/main.js',
  'worker-main': 'server/dist/app/workers/worker-main.js',
  'loader-thread': 'dist/sources/loader-thread.js',
  'pglite-main': 'server/dist/quotas/database/pglite-main.js',
}

// Loaded by services with quotas only, and from where they are installed: PGlite finds its files next to itself.
const external = ['pg', '@electric-sql/pglite']

/**
 * Small modules that nearly every file needs are one file: each of them would be one more to read at a start, for two
 * kilobytes that commands without them read in vain.
 */
const base =
  /[\\/]dist[\\/](core[\\/](library-error-rules|error-rules|errors|nearest|duration|sampled-rate|shedding[\\/]priority|rules[\\/]problems)|app[\\/]plural)\.js$/

/** The files of a bundle that have a fixed name. */
export function bundleOutputs(root) {
  return [...Object.keys(entries).map((name) => `${name}.js`), 'yaml.cjs'].map((file) =>
    join(root, 'server', bundleDir, file),
  )
}

/** Makes the bundle of what is compiled. */
export async function writeBundle(root) {
  const dir = join(root, 'server', bundleDir)
  rmSync(dir, { recursive: true, force: true })
  const input = Object.fromEntries(Object.entries(entries).map(([name, file]) => [name, join(root, file)]))
  const codeSplitting = { groups: [{ name: 'base', test: base, includeDependenciesRecursively: false }] }
  const output = { dir, format: 'esm', chunkFileNames: '[name].js', codeSplitting }
  await write({ cwd: root, input, external, plugins: [yamlFile] }, output)
  const yaml = join(root, 'node_modules', 'yaml')
  const licence = readFileSync(join(yaml, 'LICENSE'), 'utf8').trim()
  const { version, main } = JSON.parse(readFileSync(join(yaml, 'package.json'), 'utf8'))
  const banner = `/*! yaml ${version}\n\n${licence}\n*/`
  await write({ cwd: root, input: join(yaml, main) }, { file: join(dir, 'yaml.cjs'), format: 'cjs', banner })
}

async function write(input, output) {
  // Optional packages are loaded by name, when they are needed and installed. Not there before the first installation,
  // and of no use where nothing is built.
  const { rolldown } = await import('rolldown')
  const bundle = await rolldown({ platform: 'node', logLevel: 'warn', external: /^@opentelemetry\//, ...input })
  await bundle.write(output)
  await bundle.close()
}

/**
 * The package `yaml` is 80 files, and loaded by name when the first text is read. In the bundle it is one file, next to
 * it.
 */
const yamlFile = {
  name: 'yaml-file',
  transform(code, id) {
    if (!id.endsWith(join('core', 'rules', 'yaml-package.js'))) return undefined
    if (!code.includes("load('yaml')")) throw new Error(`${id} loads the package yaml in a way that is not known here`)
    return code.replace("load('yaml')", "load('./yaml.cjs')")
  },
}
