import { type FileHandle, open, rename, rm } from 'node:fs/promises'

/** How much may wait for the disk. Whatever comes after that is lost. */
const MAX_WAITING = 8_388_608

export interface RotatingFileOptions {
  readonly path: string
  /** A file that would grow beyond this is renamed to `path.1`. */
  readonly maxBytes: number
  /** How many old files are kept next to it. The oldest is removed. */
  readonly keep: number
  /**
   * Whether a text counts as written only when it is on disk, not just passed to the operating system. Default: false.
   */
  readonly isSafe?: boolean
}

/** What a RotatingFile reports: that it cannot be written, once, and that it can be written again. */
export interface RotatingFileEvents {
  failed(reason: string): void
  recovered(): void
}

/** Appends texts to a file, one after the other. No fault of the file makes a caller wait or fail. */
export class RotatingFile {
  readonly #options: RotatingFileOptions
  readonly #events: RotatingFileEvents
  #file: FileHandle | undefined
  #sizeBytes = 0
  /** Pipes and devices are not rotated. */
  #isRegular = true
  /** Whether the last text was written only in part. */
  #isTorn = false
  #isFailing = false
  #waiting = 0
  #last: Promise<void> = Promise.resolve()

  constructor(options: RotatingFileOptions, events: RotatingFileEvents) {
    this.#options = options
    this.#events = events
  }

  /**
   * Appends a text, and resolves with whether it was written; if not, it is lost, or written in part. Never rejects.
   */
  write(text: string): Promise<boolean> {
    if (this.#waiting + text.length > MAX_WAITING) {
      this.#fail('the disk does not keep up')
      return Promise.resolve(false)
    }
    this.#waiting += text.length
    return this.#next(async () => {
      this.#waiting -= text.length
      return this.#append(text)
    })
  }

  /** Opens the file of that name again for what follows, whether or not the previous one still exists. */
  reopen(): Promise<void> {
    return this.#next(() => this.#close())
  }

  close(): Promise<void> {
    return this.reopen()
  }

  #next<T>(step: () => Promise<T>): Promise<T> {
    const done = this.#last.then(step)
    this.#last = done.then(() => {})
    return done
  }

  async #append(text: string): Promise<boolean> {
    try {
      const bytes = Buffer.from(this.#isTorn ? `\n${text}` : text)
      let file = this.#file ?? (await this.#open())
      if (this.#isRegular && this.#sizeBytes > 0 && this.#sizeBytes + bytes.length > this.#options.maxBytes) {
        await this.#putAside()
        file = await this.#open()
      }
      this.#isTorn = true
      await file.appendFile(bytes)
      if (this.#options.isSafe === true && this.#isRegular) await file.datasync()
      this.#isTorn = false
      this.#sizeBytes += bytes.length
      if (this.#isFailing) this.#events.recovered()
      this.#isFailing = false
      return true
    } catch (error) {
      await this.#close()
      const { code, message } = error as NodeJS.ErrnoException
      this.#fail(code ?? message)
      return false
    }
  }

  #fail(reason: string): void {
    if (!this.#isFailing) this.#events.failed(reason)
    this.#isFailing = true
  }

  async #open(): Promise<FileHandle> {
    // Not readable by others: it shows who called, and how often.
    const file = await open(this.#options.path, 'a', 0o640)
    this.#file = file
    const stat = await file.stat()
    this.#isRegular = stat.isFile()
    this.#sizeBytes = stat.size
    return file
  }

  async #putAside(): Promise<void> {
    const { path, keep } = this.#options
    await this.#close()
    for (let i = keep - 1; i >= 1; i--) await rename(`${path}.${i}`, `${path}.${i + 1}`).catch(ignoreMissing)
    await (keep === 0 ? rm(path, { force: true }) : rename(path, `${path}.1`).catch(ignoreMissing))
  }

  async #close(): Promise<void> {
    const file = this.#file
    this.#file = undefined
    await file?.close().catch(() => {})
  }
}

/** Ignores a missing file: there were not that many yet, or it was moved away. */
function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}
