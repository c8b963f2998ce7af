import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'

/**
 * Copies the declarations that entries lead to, as CommonJS declarations: a compiler that checks CommonJS accepts no
 * types of an ES module, but an ES module may use CommonJS types. Each entry has a path without an extension, `module`,
 * in the folder dist of the package.
 */
export function writeDeclarations(packageDir, folder, entries) {
  const read = (path) =>
    withoutTexts(publicPart(compiledNames(readFileSync(join(packageDir, 'dist', `${path}.d.ts`), 'utf8'))))
  const write = (path, text) => {
    mkdirSync(dirname(join(folder, 'types', path)), { recursive: true })
    // A tab for each step in: nearly every line has one.
    const indented = text.replace(/^(?: {4})+/gm, (spaces) => '\t'.repeat(spaces.length / 4))
    writeFileSync(join(folder, 'types', path), indented)
  }
  for (const path of reachable(
    entries.map(({ module }) => module),
    read,
  )) {
    write(`${path}.d.cts`, commonJsNames(read(path)))
  }
  for (const { module } of entries) {
    const declarations = read(module)
    const main = /^export default (\w+);$/m.exec(declarations)?.[1]
    const file = `./${posix.basename(module)}`
    if (main === undefined) {
      write(`${module}.d.ts`, `export * from '${file}.cjs';\n`)
      continue
    }
    write(
      `${module}.d.ts`,
      `export * from '${file}.names.cjs';\nexport { ${main} as default } from '${file}.names.cjs';\n`,
    )
    write(`${module}.names.d.cts`, commonJsNames(declarations))
    write(`${module}.d.cts`, callableDeclarations(file, main, declarations))
  }
}

/** Leaves out the sentences of tables, and scripts: the type of a text that no one compares with is `string`. */
function withoutTexts(text) {
  const short = text.replace(
    /: (?:'(?:[^'\\]|\\.){100,}'|"(?:[^"\\]|\\.){100,}"|`(?:[^`\\]|\\.){100,}`);/gs,
    ': string;',
  )
  const plain = short.replace(
    /(\breadonly (?:doc|[A-Z][A-Z\d_]+): )(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*");/g,
    '$1string;',
  )
  // A table of nothing but texts is its names.
  return plain.replace(/\{(?:\s*readonly [A-Z][A-Z\d_]*: string;){4,}\s*\}/g, (table) => {
    const names = [...table.matchAll(/readonly (\w+):/g)].map(([, name]) => `'${name}'`)
    return `Readonly<Record<${names.join(' | ')}, string>>`
  })
}

/** Leaves out constructors that only this package calls, and what is imported for them alone. */
function publicPart(text) {
  const shown = text.replace(internalConstructor, '\n$1private constructor();')
  if (shown === text) return text
  const body = shown.replace(importedNames, '')
  const isUsed = (name) => new RegExp(`\\b${name.trim().split(/\s+/).at(-1)}\\b`).test(body)
  return shown.replace(importedNames, (_, type, list, from) => {
    const used = list.split(',').filter(isUsed)
    return used.length === 0 ? '' : `import ${type ?? ''}{${used.join(',')}} from ${from};\n`
  })
}

const internalConstructor = /\n( *)\/\*\* @internal(?:[^*]|\*(?!\/))*\*\/\n *constructor\([^;]*\);/g
const importedNames = /^import (type )?\{([^}]*)\} from ([^;]+);\n/gm

const relativeName = /(\bfrom |\bimport\(|\bimport )(['"])(\.{1,2}\/[^'"]+)\.([jt]s)\2/g

const compiledNames = (text) => text.replace(relativeName, '$1$2$3.js$2')
const commonJsNames = (text) => text.replace(relativeName, '$1$2$3.cjs$2')

/** Returns all declarations that some import, and they themselves. */
function reachable(paths, read) {
  const found = new Set(paths)
  for (const path of found) {
    for (const [, , , name] of read(path).matchAll(relativeName)) found.add(posix.join(dirname(path), name))
  }
  return [...found]
}

/** Declares a function that has all names of an entry on it, as types and as values. */
function callableDeclarations(file, main, text) {
  const names = exportedNames(text).filter((name) => name !== main)
  return `import { ${names.join(', ')} } from '${file}.names.cjs';
import * as names from '${file}.names.cjs';
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
