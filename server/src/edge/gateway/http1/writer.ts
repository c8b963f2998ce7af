import type { Duplex } from 'node:stream'

/** Pieces up to this size are joined with what is written around them: one copy is less work than one more write. */
const SMALL_BYTES = 8_192
/** So much is joined before it is written. */
const MAX_JOINED = 32_768

/**
 * Puts HTTP/1.1 on a connection. What is small is joined until `flush`, so that a head and a short body are one write.
 * Text is Latin-1, in which every byte is a character.
 */
export class Writer {
  readonly #socket: Duplex
  #joined = ''

  constructor(socket: Duplex) {
    this.#socket = socket
  }

  text(text: string): void {
    this.#joined += text
  }

  piece(piece: Buffer): void {
    if (piece.length <= SMALL_BYTES) {
      this.#joined += piece.toString('latin1')
      if (this.#joined.length > MAX_JOINED) this.flush()
      return
    }
    this.#socket.cork()
    this.flush()
    this.#socket.write(piece)
    this.#socket.uncork()
  }

  chunk(piece: Buffer): void {
    if (piece.length === 0) return
    this.#joined += `${piece.length.toString(16)}\r\n`
    this.piece(piece)
    this.#joined += '\r\n'
  }

  /** Writes what was joined. It returns false when the reader is slow, and `drain` follows. */
  flush(): boolean {
    if (this.#joined.length > 0) {
      const text = this.#joined
      this.#joined = ''
      this.#socket.write(text, 'latin1')
    }
    return !this.#socket.writableNeedDrain
  }
}

/** Formats fields as lines, each with its line end. */
export function fieldLines(fields: readonly string[]): string {
  let text = ''
  for (let i = 0; i < fields.length; i += 2) text += `${fields[i]}: ${fields[i + 1]}\r\n`
  return text
}
