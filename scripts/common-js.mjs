import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'

/**
 * Completes the output of the compiler: declarations name each other as the compiled files are called, and every entry
 * of package.json with a condition "require" gets a .cjs module and declarations of its own. Node.js loads ES modules
 * by require, so that the module is a few lines; but a compiler that checks CommonJS accepts no types that are those of
 * an ES module.
 */
export function writeCommonJs(packageDir) {
  for (const file of declarationsIn(join(packageDir, 'dist'))) writeIfChanged(file, compiledNames(read(file)))
  const entries = commonJsEntries(packageDir)
  for (const file of reachable(entries.map((entry) => `${entry}.d.ts`))) {
    writeIfChanged(file.replace(/\.d\.ts$/, '.d.cts'), commonJsNames(read(file)))
  }
  for (const entry of entries) writeEntry(entry)
}

/** The files that writeCommonJs adds, for those that it can name before there is a build. */
export function commonJsOutputs(packageDir) {
  return commonJsEntries(packageDir).map((entry) => `${entry}.cjs`)
}

const read = (file) => readFileSync(file, 'utf8')

function writeIfChanged(file, text) {
  if (!existsSync(file) || read(file) !== text) writeFileSync(file, text)
}

function declarationsIn(dir) {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.d.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
}

/** Returns the paths of entries that can be required, without an extension. */
function commonJsEntries(packageDir) {
  const path = join(packageDir, 'package.json')
  const { exports = {} } = existsSync(path) ? JSON.parse(read(path)) : {}
  return Object.values(exports).flatMap(({ require }) =>
    require === undefined ? [] : [join(packageDir, require.default.replace(/\.cjs$/, ''))],
  )
}

const relativeName = /(\bfrom |\bimport\(|\bimport )(['"])(\.{1,2}\/[^'"]+)\.([jt]s)\2/g

const compiledNames = (text) => text.replace(relativeName, '$1$2$3.js$2')
const commonJsNames = (text) => text.replace(relativeName, '$1$2$3.cjs$2')

/** Returns all declarations that some import, and they themselves. */
function reachable(files) {
  const found = new Set(files)
  for (const file of found) {
    for (const [, , , name] of read(file).matchAll(relativeName)) found.add(posix.join(dirname(file), `${name}.d.ts`))
  }
  return [...found]
}

function writeEntry(entry) {
  const declarations = read(`${entry}.d.ts`)
  const main = /^export default (\w+);$/m.exec(declarations)?.[1]
  if (main === undefined) {
    writeIfChanged(`${entry}.cjs`, "'use strict'\nmodule.exports = require('./index.js')\n")
    return
  }
  writeIfChanged(`${entry}.cjs`, callableModule)
  writeIfChanged(`${entry}.names.d.cts`, commonJsNames(declarations))
  writeIfChanged(`${entry}.d.cts`, callableDeclarations(main, declarations))
}

/** What require returns where the default export is the main thing: that itself, with all names on it. */
const callableModule = `'use strict'
const { __esModule, ...names } = require('./index.js')
module.exports = Object.assign(names.default, names)
`

/** Declares a function that has all names of an entry on it, as types and as values. */
function callableDeclarations(main, text) {
  const names = exportedNames(text).filter((name) => name !== main)
  return `import { ${names.join(', ')} } from './index.names.cjs';
import * as names from './index.names.cjs';
${signatures(main, text)}
declare namespace ${main} {
    const ${main}: typeof names.${main};
    export { ${names.join(', ')}, ${main}, ${main} as default };
}
export = ${main};
`
}

function signatures(main, text) {
  const functions = [...text.matchAll(new RegExp(`^export (declare function ${main}\\b.*;)$`, 'gm'))]
  if (functions.length > 0) return functions.map(([, signature]) => signature).join('\n')
  const type = `typeof names.${main}`
  return `declare function ${main}(...params: Parameters<${type}>): ReturnType<${type}>;`
}

/** Returns all names that declarations export, but `default`. */
function exportedNames(text) {
  const declared = [...text.matchAll(/^export declare (?:function|class|const|interface|type) (\w+)/gm)]
  const lists = [...text.matchAll(/^export (?:type )?\{([^}]*)\}/gm)]
  const listed = lists.flatMap(([, list]) =>
    list.split(',').map((each) =>
      each
        .trim()
        .split(/\s+as\s+/)
        .at(-1),
    ),
  )
  const names = [...declared.map(([, name]) => name), ...listed]
  return [...new Set(names)].filter((name) => name !== '' && name !== 'default').sort()
}
