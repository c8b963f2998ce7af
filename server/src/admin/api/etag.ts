import { got, SluiceError } from 'sluice/internal/core/errors'

/** Returns the ETag of a version of a record. */
export function etagOf(version: number): string {
  return `"${version}"`
}

const ETAG = /^(?:W\/)?"(\d{1,15})"$/

/**
 * versionOf reads If-Match: the version that a change was made from; undefined for `*`, any. Where it is needed and missing,
 * it throws VERSION_REQUIRED.
 */
export function versionOf(ifMatch: string | undefined, isRequired: boolean): number | undefined {
  if (ifMatch === undefined) {
    if (isRequired) throw new SluiceError('VERSION_REQUIRED', 'if-match', 'missing')
    return undefined
  }
  if (ifMatch.trim() === '*') return undefined
  const [, digits] = ETAG.exec(ifMatch.trim()) ?? []
  if (digits === undefined) throw new SluiceError('ADMIN_REQUEST_INVALID', 'if-match', got(ifMatch))
  return Number(digits)
}
