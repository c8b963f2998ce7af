import { existsSync, readFileSync } from 'node:fs'

/** Returns where a file of this package is, however deep in it this code lies: compiled, or in the bundle. */
export function packageFile(path: string): URL {
  let folder = new URL('.', import.meta.url)
  while (folder.pathname !== '/' && !existsSync(new URL('package.json', folder))) folder = new URL('..', folder)
  return new URL(path, folder)
}

/** Returns the package's version. */
export function packageVersion(): string {
  const text = readFileSync(packageFile('package.json'), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
