import { SluiceError, withoutCredentials } from 'sluice/internal/core/errors'

/** A DatabaseFault is a statement that the database refused. */
export class DatabaseFault extends SluiceError {
  /** As PostgreSQL numbers errors: `23505` is a value that has to be unique. */
  readonly sqlState: string
  readonly constraint: string | undefined

  constructor(where: string, { message, code, constraint }: SqlErrorForm) {
    super('DATABASE_FAILED', where, `${withoutCredentials(message)} (SQLSTATE ${code})`)
    this.sqlState = code
    this.constraint = constraint
  }
}

/**
 * What is used of an SQL error of pg and PGlite. They hold more: the statement and its values, which must not be
 * logged.
 */
export interface SqlErrorForm {
  readonly message: string
  readonly code: string
  readonly constraint?: string | undefined
}

export function isSqlError(error: unknown): error is SqlErrorForm {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && /^[0-9A-Z]{5}$/.test(error.code)
}

// Connections (08), resources (53), an operator or a crash (57P), a lock or a statement that took too long, and who may
// come in (28).
const AWAY = /^(08|53|57P|28|3D000|55P03|57014|25P03)/

/** Turns an error of a driver into one of ours: without its statement, its values and its connection. */
export function faultOf(error: unknown, where: string): SluiceError {
  if (error instanceof SluiceError) return error
  if (isSqlError(error) && !AWAY.test(error.code)) return new DatabaseFault(where, error)
  return new SluiceError('DATABASE_UNAVAILABLE', where, withoutCredentials(reasonOf(error)))
}

/** Several addresses of one name fail together, and the error that wraps them has no message. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0])
  return error instanceof Error ? error.message : String(error)
}
