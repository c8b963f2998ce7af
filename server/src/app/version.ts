import { readFileSync } from 'node:fs'
import { packageFile } from './settings/package-file.ts'

/** version returns the package's version. */
export function version(): string {
  const text = readFileSync(packageFile('package.json'), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
