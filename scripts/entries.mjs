import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { writeDeclarations } from './declarations.mjs'

/**
 * What is published: for each entry of a package, an ES module for bundlers, a CommonJS module, and a few lines by
 * which Node.js imports the latter, so that `import` and `require` in one process share counters, connections and
 * classes. Entries share chunks. They are made of the compiled modules in dist; names and lines of CommonJS stay
 * readable, for stacks.
 */
const publishedDir = 'lib'

/** Makes the entries that the manifest of a package names under lib/. */
export async function writeEntries(packageDir) {
  const entries = entriesOf(packageDir)
  rmSync(join(packageDir, publishedDir), { recursive: true, force: true })
  const names = await write(packageDir, entries, 'esm')
  await write(packageDir, entries, 'cjs')
  for (const { name } of entries) {
    writeFileSync(join(packageDir, publishedDir, `${name}.node.js`), nodeModule(name, names.get(name)))
  }
  writeDeclarations(packageDir, join(packageDir, publishedDir), entries)
}

/** The files of the entries that have a fixed name. */
export function entryOutputs(packageDir) {
  return entriesOf(packageDir).flatMap(({ name }) =>
    ['js', 'cjs', 'node.js'].map((extension) => join(packageDir, publishedDir, `${name}.${extension}`)),
  )
}

/** Returns the name of each entry, and the compiled module that it is made of, without an extension. */
function entriesOf(packageDir) {
  const path = join(packageDir, 'package.json')
  const { exports = {} } = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {}
  return Object.values(exports).flatMap(({ require }) => {
    if (require === undefined) return []
    const name = require.default.replace(/^\.\/lib\/|\.cjs$/g, '')
    return [{ name, module: require.types.replace(/^\.\/lib\/types\/|\.d\.cts$/g, '') }]
  })
}

/** Code that starts in a thread is found next to the chunk that starts it. */
const THREAD = 'sources/loader-thread'

/** Dependencies that are ES modules only: CommonJS has them built in, because not all that loads it can load those. */
const moduleOnly = ['jose']

async function write(packageDir, entries, format) {
  // Not there before the first installation, and of no use where nothing is built.
  const { rolldown } = await import('rolldown')
  const { dependencies = {}, peerDependencies = {} } = JSON.parse(
    readFileSync(join(packageDir, 'package.json'), 'utf8'),
  )
  const external = Object.keys({ ...dependencies, ...peerDependencies })
    .filter((name) => format === 'esm' || !moduleOnly.includes(name))
    .map((name) => new RegExp(`^${name}(/|$)`))
  const input = Object.fromEntries(entries.map(({ name, module }) => [name, join(packageDir, 'dist', `${module}.js`)]))
  const thread = join(packageDir, 'dist', `${THREAD}.js`)
  if (existsSync(thread)) input['chunks/loader-thread'] = thread
  const bundle = await rolldown({
    cwd: packageDir,
    input,
    external: [/^node:/, ...external],
    platform: 'node',
    logLevel: 'warn',
    plugins: [packed(format)],
    treeshake: { moduleSideEffects: false },
  })
  const extension = format === 'esm' ? 'js' : 'cjs'
  const { output } = await bundle.generate({
    format,
    exports: 'named',
    entryFileNames: `[name].${extension}`,
    chunkFileNames: `chunks/[name].${extension}`,
    // The declarations have the comments.
    comments: { annotation: true, jsdoc: false, legal: true },
    // CommonJS keeps its lines, and the names of functions and classes, for stacks; what is bundled anyway does not.
    minify: {
      compress: format === 'esm',
      mangle: { toplevel: format === 'esm' },
      codegen: { removeWhitespace: format === 'esm' },
    },
  })
  await bundle.close()
  for (const { fileName, code, isEntry, exports } of output) {
    const path = join(packageDir, publishedDir, fileName)
    mkdirSync(dirname(path), { recursive: true })
    const isCallable = format === 'cjs' && isEntry && exports.includes('default')
    writeFileSync(path, finished(code, format) + (isCallable ? callable : ''))
  }
  return new Map(output.filter(({ isEntry }) => isEntry).map(({ name, exports }) => [name, exports]))
}

/** What require returns where the default export is the main thing: that itself, with all names on it. */
const callable = 'module.exports = Object.assign(exports.default, exports);\n'

function finished(code, format) {
  if (format !== 'cjs') return code
  // Where each part comes from, the bundler says in comments, and it indents by tabs, which no source has.
  return code.replaceAll('requireOfThisModule', 'require').replace(/^(?:\/\/#(?:end)?region.*\n|\t+)/gm, '')
}

/**
 * Code that few apps use is loaded by name, so that bundlers do not follow it (NAME-code.packed.ts), or has a small form
 * for the ES modules that bundlers read (NAME-code.bundled.ts).
 */
function packed(format) {
  return {
    name: 'packed',
    async resolveId(source, importer, options) {
      if (!/-code\.js$/.test(source) || importer.includes(join('dist', 'entries'))) return undefined
      const file = join(dirname(importer), source)
      const kind = ['bundled', 'packed'].find(
        (each) => existsSync(file.replace(/\.js$/, `.${each}.js`)) && (each !== 'bundled' || format === 'esm'),
      )
      return kind && this.resolve(source.replace(/\.js$/, `.${kind}.js`), importer, options)
    },
    transform(code, id) {
      if (documented.some((file) => id.endsWith(file))) return withoutDocs(code)
      if (format !== 'cjs' || !id.endsWith(join('core', 'load-unbundled.js'))) return undefined
      return loadByRequire
    },
  }
}

/** Tables whose rows have a line for editors and `--help`, which no app shows. */
const documented = [join('core', 'limit-options.js'), join('core', 'rules', 'schema.js')]

/**
 * withoutDocs leaves out the property `doc` of rows, where it is a plain text on lines of its own or at the end of one.
 */
function withoutDocs(code) {
  return code.replace(/,?\s+doc: (?:'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")(?=,?\s*\})/g, '')
}

/** The module loader of CommonJS itself, and not that of a bundler, which would look for the name when it bundles. */
const loadByRequire = `export function loadUnbundled(name) {
  return (typeof __webpack_require__ === 'function' ? __non_webpack_require__ : requireOfThisModule)(name)
}
`

function nodeModule(name, exported) {
  const file = `./${name.split('/').at(-1)}.cjs`
  const names = exported.filter((each) => each !== 'default').join(', ')
  const main = exported.includes('default') ? 'export default names.default\n' : ''
  return `import names from '${file}'\nexport const { ${names} } = names\n${main}`
}
