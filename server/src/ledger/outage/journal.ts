import { type FileHandle, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { SluiceError } from 'sluice/internal/core/errors'
import { frameOf, framesOf } from './frames.ts'

interface Waiting {
  readonly frame: Buffer
  resolve(): void
  reject(error: unknown): void
}

const MOST_BYTES = 16 * 1_048_576

/**
 * A Journal keeps texts in a file, in order. What it has confirmed survives a power cut: the file is synced before.
 * Texts that come while it syncs share the next sync. It is bounded, and refuses more with LEDGER_BUSY. One process
 * may have it open.
 */
export class Journal {
  /** What was in it when it was opened. */
  readonly texts: readonly string[]
  readonly #path: string
  readonly #file: FileHandle
  readonly #mostBytes: number
  readonly #waiting: Waiting[] = []
  /** Bytes that are synced. */
  #size: number
  /** Bytes with those that wait. */
  #taken: number
  #next: number
  #working: Promise<void> | undefined
  #failure: SluiceError | undefined

  static async open(path: string, { mostBytes = MOST_BYTES }: { readonly mostBytes?: number } = {}): Promise<Journal> {
    const file = await open(path, 'a+', 0o600)
    try {
      const bytes = await file.readFile()
      const { texts, size } = framesOf(bytes, path)
      if (size < bytes.length) await file.truncate(size)
      await file.datasync()
      await syncDirectory(dirname(path))
      return new Journal(path, file, texts, size, mostBytes)
    } catch (error) {
      await file.close()
      throw error
    }
  }

  private constructor(path: string, file: FileHandle, texts: readonly string[], size: number, mostBytes: number) {
    this.#path = path
    this.#file = file
    this.texts = texts
    this.#size = size
    this.#taken = size
    this.#next = texts.length
    this.#mostBytes = mostBytes
  }

  get sizeBytes(): number {
    return this.#size
  }

  /** Resolves when a text is on the disk. After a write that failed it takes nothing more. */
  append(text: string): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure
    const frame = frameOf(this.#next, text)
    if (this.#taken + frame.length > this.#mostBytes) {
      throw new SluiceError('LEDGER_BUSY', this.#path, `the journal is full: ${this.#taken} bytes`)
    }
    this.#next++
    this.#taken += frame.length
    return new Promise((resolve, reject) => {
      this.#waiting.push({ frame, resolve, reject })
      this.#working ??= this.#work()
    })
  }

  /** Resolves when nothing is being written. */
  async idle(): Promise<void> {
    await this.#working
  }

  /** Empties it, before anything else is written. All that it has confirmed must have been booked. */
  empty(): void {
    if (this.#failure !== undefined || this.#working !== undefined || this.#size === 0) return
    this.#size = 0
    this.#taken = 0
    this.#next = 0
    this.#working = this.#truncate().then(() => this.#work())
  }

  async #truncate(): Promise<void> {
    try {
      await this.#file.truncate(0)
      await this.#file.datasync()
    } catch (error) {
      this.#fail(error as Error, this.#waiting.splice(0))
    }
  }

  async #work(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0)
      try {
        await this.#write(Buffer.concat(batch.map(({ frame }) => frame)))
        for (const { resolve } of batch) resolve()
      } catch (error) {
        this.#fail(error as Error, [...batch, ...this.#waiting.splice(0)])
      }
    }
    this.#working = undefined
  }

  async #write(bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length; ) at += (await this.#file.write(bytes, at)).bytesWritten
    await this.#file.datasync()
    this.#size += bytes.length
  }

  /** What a failed sync has left on the disk is not known: it is read again when the service starts. */
  #fail({ message }: Error, batch: readonly Waiting[]): void {
    this.#failure = new SluiceError('LEDGER_JOURNAL_FAILED', this.#path, message)
    for (const { reject } of batch) reject(this.#failure)
  }

  async close(): Promise<void> {
    await this.#working
    await this.#file.close()
  }
}

/** A file that was just made is in its directory only when that is on the disk, too. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r')
  await directory.sync().finally(() => directory.close())
}
