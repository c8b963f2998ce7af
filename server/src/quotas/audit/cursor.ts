import { got, SluiceError } from 'sluice/internal/core/errors'

/** Encodes where a list continues. Only readCursor understands it. */
export function writeCursor(list: string, position: string): string {
  return Buffer.from(JSON.stringify([list, position])).toString('base64url')
}

/** Returns the position of a cursor of the same list. */
export function readCursor(cursor: string, list: string): string {
  try {
    const [of, position] = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
    if (of === list && typeof position === 'string' && writeCursor(list, position) === cursor) return position
  } catch {}
  throw new SluiceError('CURSOR_INVALID', 'after', got(cursor))
}
