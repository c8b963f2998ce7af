import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** What a source said, as it said it, and when that was known to be good. */
export interface Kept {
  readonly atMs: number
  readonly body: Buffer
}

const LINE_END = 0x0a

/**
 * Keeps the last good rules of each source in a file, for a start while the source is unavailable. A file that cannot
 * be written or is malformed counts as none: the service continues without it.
 */
export class KeptRules {
  readonly #directory: string
  #lastWrite: Promise<void> = Promise.resolve()

  constructor(directory: string) {
    this.#directory = directory
  }

  /** Returns what was kept of a source. */
  read(source: string): Kept | undefined {
    try {
      const bytes = readFileSync(this.#fileOf(source))
      const head = bytes.indexOf(LINE_END)
      const { of, atMs, length } = JSON.parse(bytes.toString('utf8', 0, head))
      const body = bytes.subarray(head + 1)
      return of === source && typeof atMs === 'number' && length === body.length ? { atMs, body } : undefined
    } catch {
      return undefined
    }
  }

  /** Keeps what a source said, in the place of what it said before. It never rejects. */
  write(source: string, { atMs, body }: Kept): Promise<void> {
    this.#lastWrite = this.#lastWrite.then(() => this.#put(source, atMs, body)).catch(() => {})
    return this.#lastWrite
  }

  async #put(source: string, atMs: number, body: Buffer): Promise<void> {
    const file = this.#fileOf(source)
    const head = `${JSON.stringify({ of: source, atMs, length: body.length })}\n`
    await mkdir(this.#directory, { recursive: true, mode: 0o700 })
    await writeFile(`${file}.new`, Buffer.concat([Buffer.from(head), body]), { mode: 0o600 })
    await rename(`${file}.new`, file)
  }

  #fileOf(source: string): string {
    const name = createHash('sha256').update(source).digest('hex').slice(0, 16)
    return join(this.#directory, `${name}.rules`)
  }
}
