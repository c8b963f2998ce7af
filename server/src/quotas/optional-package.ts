import { createRequire } from 'node:module'
import { type ErrorCode, SluiceError } from 'sluice/internal/core/errors'

/** A package that only some settings need. Users install it next to sluice-server. */
export interface OptionalPackage {
  readonly name: string
  /** The version range that works, such as `1` or `0.5.16`. */
  readonly version: string
  /** The setting that needs it, as users write it. */
  readonly setting: string
  readonly code: ErrorCode
}

export type Resolve = (name: string) => unknown

const resolveHere: Resolve = createRequire(import.meta.url).resolve

/** Returns whether a package is installed. Loads nothing. */
export function isInstalled(name: string, resolve: Resolve = resolveHere): boolean {
  try {
    resolve(name)
    return true
  } catch {
    return false
  }
}

/** Throws the package's error, with the command that installs it, if the package is not installed. */
export function requirePackage({ name, version, setting, code }: OptionalPackage, resolve?: Resolve): void {
  if (isInstalled(name, resolve)) return
  throw new SluiceError(code, setting, `${name} is not installed; run: npm install ${name}@${version}`)
}
