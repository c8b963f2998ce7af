import { packageVersion } from '../app/settings/package-file.ts'

/** version returns the package's version. */
export function version(): string {
  return packageVersion()
}
