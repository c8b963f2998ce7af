import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RuleInput } from 'sluice/internal/core/rules/load'

/** Kept is what a source said, and when that was known to be good. */
export interface Kept {
  readonly atMs: number
  readonly inputs: readonly RuleInput[]
}

/**
 * KeptRules keeps the last good rules of sources in files, one for each, for a start while a source is away. A file that
 * cannot be written or makes no sense is as good as none: the service goes on without.
 */
export class KeptRules {
  readonly #directory: string

  constructor(directory: string) {
    this.#directory = directory
  }

  /** read returns what was kept of a source. */
  read(source: string): Kept | undefined {
    try {
      const { of, atMs, inputs } = JSON.parse(readFileSync(this.#fileOf(source), 'utf8'))
      if (of !== source || typeof atMs !== 'number' || !Array.isArray(inputs)) return undefined
      return inputs.every(isInput) ? { atMs, inputs } : undefined
    } catch {
      return undefined
    }
  }

  /** write keeps what a source said, in the place of what it said before. */
  write(source: string, { atMs, inputs }: Kept): void {
    const file = this.#fileOf(source)
    try {
      mkdirSync(this.#directory, { recursive: true, mode: 0o700 })
      writeFileSync(`${file}.new`, JSON.stringify({ of: source, atMs, inputs }), { mode: 0o600 })
      renameSync(`${file}.new`, file)
    } catch {}
  }

  #fileOf(source: string): string {
    const name = createHash('sha256').update(source).digest('hex').slice(0, 16)
    return join(this.#directory, `rules-${name}.json`)
  }
}

function isInput(input: unknown): input is RuleInput {
  const { file, text, value } = (input ?? {}) as Record<string, unknown>
  return typeof file === 'string' && (typeof text === 'string') !== (typeof value === 'object' && value !== null)
}
