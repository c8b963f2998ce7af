import type { KeyedHash } from 'sluice/internal/core/hash'

const BITS = 14
const REGISTERS = 1 << BITS
const ALPHA = 0.7213 / (1 + 1.079 / REGISTERS)

/** How far an estimate is off, for two of three: 1.04 / √16,384. */
export const DISTINCT_ERROR = 0.0082

/** Estimates how many different texts it was given, in 16 KiB (HyperLogLog, Flajolet and others 2007). */
export class Distinct {
  readonly #registers = new Uint8Array(REGISTERS)
  readonly #hash: KeyedHash

  constructor(hash: KeyedHash) {
    this.#hash = hash
  }

  add(text: string): void {
    this.#hash.of(text, SPACE)
    const register = this.#hash.high >>> (32 - BITS)
    const rank = Math.clz32(this.#hash.low) + 1
    if (rank > this.#registers[register]) this.#registers[register] = rank
  }

  get estimate(): number {
    let sum = 0
    let empty = 0
    for (const rank of this.#registers) {
      sum += 2 ** -rank
      if (rank === 0) empty++
    }
    const raw = (ALPHA * REGISTERS * REGISTERS) / sum
    return Math.round(raw <= 2.5 * REGISTERS && empty > 0 ? REGISTERS * Math.log(REGISTERS / empty) : raw)
  }
}

const SPACE = 0xd157
