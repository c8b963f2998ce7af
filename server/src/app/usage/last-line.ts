import { type FileHandle, open } from 'node:fs/promises'

const BLOCK_BYTES = 65_536
const NEWLINE = 10

/** A LastLine is the last whole line of a file, and where it ends. */
export interface LastLine {
  readonly text: string
  readonly end: number
}

/** Returns the last whole line of a file, '' where it has none; undefined: there is no file, or one that cannot be read back. */
export async function lastLine(path: string): Promise<LastLine | undefined> {
  let file: FileHandle
  try {
    file = await open(path, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  try {
    const stat = await file.stat()
    // A pipe or a device cannot be read back.
    if (!stat.isFile()) return undefined
    const end = (await newlineBefore(file, stat.size)) + 1
    if (end === 0) return { text: '', end }
    const start = (await newlineBefore(file, end - 1)) + 1
    const line = Buffer.alloc(end - start)
    await file.read(line, 0, line.length, start)
    return { text: line.toString('utf8'), end }
  } finally {
    await file.close()
  }
}

/** Finds the last line break before a place; -1: there is none. */
async function newlineBefore(file: FileHandle, before: number): Promise<number> {
  const block = Buffer.alloc(BLOCK_BYTES)
  for (let end = before; end > 0; end -= BLOCK_BYTES) {
    const start = Math.max(0, end - BLOCK_BYTES)
    const { bytesRead } = await file.read(block, 0, end - start, start)
    const at = block.subarray(0, bytesRead).lastIndexOf(NEWLINE)
    if (at >= 0) return start + at
  }
  return -1
}
