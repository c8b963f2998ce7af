import { createHmac, timingSafeEqual } from 'node:crypto'
import { type AuditHead, NO_ENTRY } from './audit-entry.ts'

/** The end of the audit log, signed: a chain alone does not show that its end was cut off. */
export interface SignedHead extends AuditHead {
  readonly signature: string
}

/** Signs heads with a key of the installation. The signatures reveal nothing of it. */
export class HeadSignatures {
  readonly #key: () => Buffer

  constructor(key: () => Buffer) {
    this.#key = key
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
}

/** Encodes a head as a line of JSON. */
export function headText({ sequence, hash, signature }: SignedHead): string {
  return JSON.stringify({ sequence, hash, signature })
}

/** Reads what headText made. A text that says nonsense is a head without a signature. */
export function headIn(text: string): SignedHead {
  try {
    const { sequence, hash, signature } = JSON.parse(text)
    return { sequence: Number(sequence), hash: String(hash), signature: String(signature) }
  } catch {
    return { ...NO_ENTRY, signature: '' }
  }
}
