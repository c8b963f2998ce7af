import { Duplex } from 'node:stream'
import { cut, type Frame } from './wire.ts'

/** A connection without a network: what a test pushes the server reads at once, and its output is kept. */
export class MemorySocket extends Duplex {
  readonly #output: Buffer[] = []

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#output.push(chunk)
    done()
  }

  get output(): Buffer {
    return Buffer.concat(this.#output)
  }

  /** Returns the frames that the server has sent, and forgets them. */
  takeFrames(): Frame[] {
    const { frames } = this
    this.#output.length = 0
    return frames
  }

  /** Those that the server has sent; it must have sent nothing but whole ones. */
  get frames(): Frame[] {
    const { frames, rest } = cut(this.output)
    if (rest.length > 0) throw new Error(`the server has sent ${rest.length} bytes that are no frame`)
    return frames
  }
}
