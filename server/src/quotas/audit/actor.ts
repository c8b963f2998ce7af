/** An Actor is who changes something, and from where. */
export interface Actor {
  /** The id of a token, or `cli`. */
  readonly id: string
  readonly name: string
  readonly address: string | undefined
  readonly reason: string | undefined
  /** Where a change of a record is in force, as its entry in the audit log says it; by `table/id`. */
  readonly inForceOn?: ReadonlyMap<string, unknown>
}
