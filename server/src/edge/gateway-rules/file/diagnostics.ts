import { parseDuration } from 'sluice/internal/core/duration'
import { SluiceError } from 'sluice/internal/core/errors'
import type { Problems } from 'sluice/internal/core/rules/problems'
import type { RuleDocument } from 'sluice/internal/core/rules/rule-document'
import { type Rate, readRate } from './rate.ts'

export type Path = readonly PropertyKey[]

/** Collects what is wrong with a routes file, each with its line. */
export class Diagnostics {
  readonly #document: RuleDocument
  readonly problems: Problems

  constructor(document: RuleDocument, problems: Problems) {
    this.#document = document
    this.problems = problems
  }

  locate(path: Path, of?: 'key' | 'value'): string {
    return this.#document.locate(path, of)
  }

  /** Reports an error at a position of the file. */
  wrong(path: Path, detail: string): void {
    this.problems.add('ROUTES_INVALID', this.locate(path), detail)
  }

  /** Returns what a step makes, or reports why it was refused. */
  attempt<T>(path: Path, step: () => T): T | undefined {
    try {
      return step()
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error
      const { code, detail } = error
      this.problems.add(code === 'GATEWAY_OPTIONS_INVALID' ? 'ROUTES_INVALID' : code, this.locate(path), detail)
      return undefined
    }
  }

  /** Reads a time, in milliseconds; undefined where none is given, or a wrong one. */
  duration(value: string | number | undefined, path: Path): number | undefined {
    return value === undefined ? undefined : this.attempt(path, () => parseDuration(value, ''))
  }

  rate(value: string | undefined, path: Path): Rate | undefined {
    return value === undefined ? undefined : this.attempt(path, () => readRate(value, ''))
  }
}
