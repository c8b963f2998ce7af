/**
 * Holds the fields of one answer, in order. It is reused for every answer: read it immediately and keep no reference to
 * it.
 */
export class FieldList {
  readonly names: string[] = []
  readonly values: string[] = []
  length = 0
  /** What Retry-After says, for the body; undefined where a request passed, or where waiting never helps. */
  retryAfterSeconds: number | undefined

  clear(): void {
    this.length = 0
    this.retryAfterSeconds = undefined
  }

  add(name: string, value: string): void {
    this.names[this.length] = name
    this.values[this.length++] = value
  }
}
