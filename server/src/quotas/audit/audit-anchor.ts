import { createHmac, timingSafeEqual } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type AuditHead, BEFORE_GENESIS, NO_ENTRY } from './audit-entry.ts'

export interface SignedHead extends AuditHead {
  readonly signature: string
}

/**
 * An AuditAnchor keeps the end of the audit log, signed: a chain alone does not tell that its end was cut off. It is in the database
 * and, where there is a data directory, in a file that does not come back with an older database.
 */
export class AuditAnchor {
  readonly #key: () => Buffer
  readonly #file: string | undefined
  #written: number

  constructor(key: () => Buffer, dataDir: string | undefined) {
    this.#key = key
    this.#file = dataDir === undefined ? undefined : join(dataDir, 'audit-head.json')
    this.#written = this.read()?.sequence ?? BEFORE_GENESIS.sequence
  }

  sign({ sequence, hash }: AuditHead): SignedHead {
    return { sequence, hash, signature: this.#signature(sequence, hash) }
  }

  isSigned({ sequence, hash, signature }: SignedHead): boolean {
    const [given, right] = [Buffer.from(signature), Buffer.from(this.#signature(sequence, hash))]
    return given.length === right.length && timingSafeEqual(given, right)
  }

  #signature(sequence: number, hash: string): string {
    return createHmac('sha256', this.#key()).update(`audit head;${sequence};${hash}`).digest('hex')
  }

  /** write puts the head into the file. One that cannot be written is written with the next entry. */
  write(head: SignedHead): void {
    if (this.#file === undefined || head.sequence <= this.#written) return
    try {
      mkdirSync(dirname(this.#file), { recursive: true, mode: 0o700 })
      writeFileSync(`${this.#file}.new`, `${JSON.stringify(head)}\n`, { mode: 0o600 })
      renameSync(`${this.#file}.new`, this.#file)
      this.#written = head.sequence
    } catch {}
  }

  /** read returns what the file says; undefined: there is none. A file that says nonsense is an unsigned head. */
  read(): SignedHead | undefined {
    if (this.#file === undefined) return undefined
    let text: string
    try {
      text = readFileSync(this.#file, 'utf8')
    } catch {
      return undefined
    }
    try {
      const { sequence, hash, signature } = JSON.parse(text)
      return { sequence: Number(sequence), hash: String(hash), signature: String(signature) }
    } catch {
      return { ...NO_ENTRY, signature: '' }
    }
  }
}
