import { got, SluiceError } from 'sluice/internal/core/errors'

/** A PostgresAddress is where a PostgreSQL is. */
export interface PostgresAddress {
  readonly url: string
  /** For errors and logs: without user, password and parameters. */
  readonly label: string
}

/** Checks an address. Drivers put a wrong one into their errors, with its password. */
export function postgresAddress(url: string): PostgresAddress {
  let parsed: URL | undefined
  try {
    parsed = new URL(url)
  } catch {}
  if (parsed === undefined || !/^postgres(ql)?:$/.test(parsed.protocol)) {
    throw new SluiceError(
      'DATABASE_URL_INVALID',
      'database',
      parsed === undefined ? 'got no address' : got(parsed.protocol),
    )
  }
  // The driver reads hosts of sockets and certificates from the parameters.
  const host = parsed.host === '' ? (parsed.searchParams.get('host') ?? 'localhost') : parsed.host
  return { url, label: `postgres://${host}${parsed.pathname}` }
}
