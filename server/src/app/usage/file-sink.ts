import { type FileHandle, open } from 'node:fs/promises'
import type { AuditRow } from '../../quotas/audit/audit-entry.ts'
import { auditLine } from '../../quotas/sinks/audit-line.ts'
import type { AuditSink } from '../../quotas/sinks/audit-sink.ts'
import { RotatingFile, type RotatingFileOptions } from '../decisions/rotating-file.ts'

const BLOCK_BYTES = 65_536
const NEWLINE = 10
/** A text of many lines is written in pieces: where a file is full, another is begun between two of them. */
const TEXT_CHARACTERS = 1_048_576

/**
 * A FileSink writes lines of JSON into a file of this node. How far it is, its last line says: so no entry is lost or doubled, whenever
 * the process ends. A line that was not written to its end is cut off, and written again.
 */
export class FileSink implements AuditSink {
  readonly kind = 'file'
  readonly name: string
  readonly isShared = false
  readonly #options: RotatingFileOptions
  #file: RotatingFile | undefined
  #fault: string | undefined

  /** `host` tells the files of several nodes apart. */
  constructor(options: Omit<RotatingFileOptions, 'isSafe'>, host: string) {
    this.#options = { ...options, isSafe: true }
    this.name = `file ${host}:${options.path}`
  }

  async open(): Promise<number | undefined> {
    const { path } = this.#options
    await this.#file?.close()
    this.#file = new RotatingFile(this.#options, {
      failed: (reason) => {
        this.#fault = reason
      },
      recovered: () => {},
    })
    return (await lastSequence(path)) ?? (await lastSequence(`${path}.1`))
  }

  async write(rows: readonly AuditRow[]): Promise<void> {
    let text = ''
    for (const row of rows) {
      text += `${auditLine(row)}\n`
      if (text.length >= TEXT_CHARACTERS) {
        await this.#append(text)
        text = ''
      }
    }
    if (text !== '') await this.#append(text)
  }

  /** reopen goes on in a file of the same name, whatever became of the one before. */
  async reopen(): Promise<void> {
    await this.#file?.reopen()
  }

  async close(): Promise<void> {
    await this.#file?.close()
  }

  async #append(text: string): Promise<void> {
    this.#fault = undefined
    const isWritten = await this.#file?.write(text)
    if (isWritten !== true) throw new Error(this.#fault ?? 'it is not open')
  }
}

/** lastSequence reads the number of the last whole line of a file, and cuts off what comes after it; undefined: there is none. */
async function lastSequence(path: string): Promise<number | undefined> {
  let file: FileHandle
  try {
    file = await open(path, 'r+')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  try {
    const stat = await file.stat()
    // A pipe or a device cannot be read back.
    if (!stat.isFile()) return undefined
    const end = (await newlineBefore(file, stat.size)) + 1
    if (end < stat.size) await file.truncate(end)
    if (end === 0) return undefined
    const start = (await newlineBefore(file, end - 1)) + 1
    const line = Buffer.alloc(end - start)
    await file.read(line, 0, line.length, start)
    return sequenceOf(line.toString('utf8'), path)
  } finally {
    await file.close()
  }
}

function sequenceOf(line: string, path: string): number {
  try {
    const { sequence } = JSON.parse(line)
    if (Number.isSafeInteger(sequence) && sequence > 0) return sequence
  } catch {}
  throw new Error(`the last line of ${path} is not an entry of the audit log`)
}

/** newlineBefore finds the last line break before a place; -1: there is none. */
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
