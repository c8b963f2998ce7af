/**
 * Loads a module by name at run time. It asks Node.js for its module loader without an import, which a runtime that has
 * no such modules would fail on, and which a bundler would follow. In the packed library as CommonJS, this is `require`
 * itself (scripts/entries.mjs).
 */
export function loadUnbundled(name: string): unknown {
  const { createRequire } = process.getBuiltinModule('node:module')
  // In a bundle that is CommonJS, there may be no address of this file.
  const from: string | undefined = import.meta.url
  return createRequire(from ?? `${process.cwd()}/`)(name)
}
