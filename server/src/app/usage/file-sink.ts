import { truncate } from 'node:fs/promises'
import type { AuditHead, AuditRow } from '../../quotas/audit/audit-entry.ts'
import { auditLine } from '../../quotas/sinks/audit-line.ts'
import type { AuditSink } from '../../quotas/sinks/audit-sink.ts'
import { RotatingFile, type RotatingFileOptions } from '../decisions/rotating-file.ts'
import { lastLine } from './last-line.ts'

/** A text of many lines is written in pieces: where a file is full, another is begun between two of them. */
const TEXT_CHARACTERS = 1_048_576

/**
 * A FileSink writes lines of JSON into a file of this node. How far it is, its last line says: so no entry is lost or
 * doubled, whenever the process ends. A line that was not written to its end is cut off, and written again.
 */
export class FileSink implements AuditSink {
  readonly kind = 'file'
  readonly name: string
  readonly isShared = false
  readonly #options: RotatingFileOptions
  #file: RotatingFile | undefined
  #fault: string | undefined

  /** `host` distinguishes the files of several nodes. */
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

  /** Continues in a file of the same name, whatever became of the previous one. */
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

/** Reads the number of the last whole line of a file, and cuts off what comes after it; undefined: there is none. */
async function lastSequence(path: string): Promise<number | undefined> {
  const line = await lastLine(path)
  if (line === undefined) return undefined
  await truncate(path, line.end)
  return line.text === '' ? undefined : entryIn(line.text, path).sequence
}

/** Returns which entry a line of an audit file is. */
export function entryIn(line: string, path: string): AuditHead {
  try {
    const { sequence, hash } = JSON.parse(line)
    if (Number.isSafeInteger(sequence) && sequence > 0) return { sequence, hash: String(hash) }
  } catch {}
  throw new Error(`the last line of ${path} is not an entry of the audit log`)
}
