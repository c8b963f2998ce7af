/** packageFile is where a file of this package is. Compiled or bundled, this code is two folders below it. */
export function packageFile(path: string): URL {
  return new URL(`../../${path}`, import.meta.url)
}
