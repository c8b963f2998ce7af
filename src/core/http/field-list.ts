/**
 * A FieldList holds the fields of one answer, in order. It is filled again for every answer: whoever gets one reads it at
 * once, and keeps nothing of it.
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
