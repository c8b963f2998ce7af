import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Anchor, AnchoredHead } from './anchor.ts'
import type { AuditHead } from './audit-entry.ts'
import { headIn, headText, type SignedHead } from './signed-head.ts'

/** A FileAnchor is the file `audit-head.json` in the data directory of a node. */
export class FileAnchor implements Anchor {
  readonly kind = 'file'
  readonly name = 'audit-head.json'
  readonly #path: string

  constructor(dataDir: string) {
    this.#path = join(dataDir, this.name)
  }

  async read(): Promise<SignedHead | undefined> {
    return this.#read()
  }

  async replace(before: AnchoredHead | undefined, head: SignedHead): Promise<void> {
    if (isSame(this.#read(), before)) this.#write(head)
  }

  /** Writes a head whose entries follow what the file has. What does not, or cannot be written, is left to the AnchorKeeper. */
  follow(previous: AuditHead, head: SignedHead): void {
    try {
      const there = this.#read()
      if (there === undefined || isSame(there, previous)) this.#write(head)
    } catch {}
  }

  #read(): SignedHead | undefined {
    try {
      return headIn(readFileSync(this.#path, 'utf8'))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
  }

  #write(head: SignedHead): void {
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 })
    writeFileSync(`${this.#path}.new`, `${headText(head)}\n`, { mode: 0o600 })
    renameSync(`${this.#path}.new`, this.#path)
  }
}

function isSame(one: AuditHead | undefined, other: AuditHead | undefined): boolean {
  return one?.sequence === other?.sequence && one?.hash === other?.hash
}
