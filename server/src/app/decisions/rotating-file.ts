import { type FileHandle, open, rename, rm } from 'node:fs/promises'

/** How much may wait for the disk. What comes then is lost. */
const MAX_WAITING = 8_388_608

export interface RotatingFileOptions {
  readonly path: string
  /** A file that would be longer is put aside, as `path.1`. */
  readonly maxBytes: number
  /** How many are kept beside it. The oldest goes. */
  readonly keep: number
  /** A text is written when it is on the disk, and not only with the system. Default: false. */
  readonly isSafe?: boolean
}

/** What a RotatingFile tells: it cannot be written, told once, and it can again. */
export interface RotatingFileEvents {
  failed(reason: string): void
  recovered(): void
}

/** Appends texts to a file, one after the other. Whatever is wrong with the file, nobody has to wait or fail. */
export class RotatingFile {
  readonly #options: RotatingFileOptions
  readonly #events: RotatingFileEvents
  #file: FileHandle | undefined
  #sizeBytes = 0
  /** Pipes and devices are not put aside. */
  #isRegular = true
  /** The last text was not written to its end. */
  #isTorn = false
  #isFailing = false
  #waiting = 0
  #last: Promise<void> = Promise.resolve()

  constructor(options: RotatingFileOptions, events: RotatingFileEvents) {
    this.#options = options
    this.#events = events
  }

  /**
   * Appends a text, and resolves with whether it is written; if not, it is lost, or a part of it is there. It never
   * rejects.
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

  /** Has what comes next go to a file of that name, whatever became of the one before. */
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
    // Others have no business with it: it tells who called, and how often.
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

/** ignoreMissing: there were not that many yet, or somebody took one away. */
function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}
