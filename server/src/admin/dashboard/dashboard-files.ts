import { readFile } from 'node:fs/promises'

/** The compressed forms in which a file may also be stored, the best first. */
export const CODINGS = ['br', 'gzip'] as const
export type Coding = (typeof CODINGS)[number] | 'identity'

const SUFFIXES: Readonly<Record<Coding, string>> = { identity: '', br: '.br', gzip: '.gz' }

/** A BuiltFile is one line of the list that the build writes. */
export interface BuiltFile {
  readonly type: string
  /** Of its content. */
  readonly hash: string
  /** How large each coding is that there is. */
  readonly bytes: { readonly identity: number } & Readonly<Partial<Record<Coding, number>>>
}

/** All files in all codings take no more than this: they stay in memory once they were asked for. */
export const MAX_HELD_BYTES = 4_194_304

/** DashboardMissing says why there are no pages. */
export class DashboardMissing extends Error {}

/**
 * DashboardFiles are the files of the built dashboard. Only what the list of the build names is ever read, each once.
 * When a file is not what the list says, the dashboard was rebuilt in the meantime: everything is forgotten, and the
 * new one is read.
 */
export class DashboardFiles {
  readonly #folder: URL
  #list: Promise<ReadonlyMap<string, BuiltFile>> | undefined
  readonly #held = new Map<string, Promise<Buffer>>()

  constructor(folder: URL) {
    this.#folder = folder
  }

  /**
   * find returns the file of a path such as /index.html; undefined where the list has none. It throws DashboardMissing.
   */
  async find(path: string): Promise<BuiltFile | undefined> {
    this.#list ??= readList(this.#folder)
    try {
      return (await this.#list).get(path)
    } catch (error) {
      this.#forget()
      throw error
    }
  }

  /** read returns a file that was found. Everybody gets the same bytes. It throws DashboardMissing. */
  async read(path: string, { bytes }: BuiltFile, coding: Coding): Promise<Buffer> {
    const name = path + SUFFIXES[coding]
    const reading = this.#held.get(name) ?? readFile(new URL(`.${name}`, this.#folder))
    this.#held.set(name, reading)
    try {
      const content = await reading
      if (content.length === bytes[coding]) return content
    } catch {
      // It is gone, which is as good as another one.
    }
    this.#forget()
    throw new DashboardMissing(`${name} is not the file that was built`)
  }

  #forget(): void {
    this.#list = undefined
    this.#held.clear()
  }
}

async function readList(folder: URL): Promise<ReadonlyMap<string, BuiltFile>> {
  let files: Readonly<Record<string, BuiltFile>>
  try {
    files = JSON.parse(await readFile(new URL('manifest.json', folder), 'utf8')).files
  } catch {
    throw new DashboardMissing('there is no list of its files')
  }
  const sizes = Object.values(files).flatMap(({ bytes }) => Object.values(bytes))
  const total = sizes.reduce((sum, size) => sum + size, 0)
  if (total > MAX_HELD_BYTES) throw new DashboardMissing(`its files have ${total} bytes, more than ${MAX_HELD_BYTES}`)
  return new Map(Object.entries(files))
}
