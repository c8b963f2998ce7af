import type { RequestReader } from 'sluice/internal/http-door/request-reader'
import type { Fields, GatewayRequest } from '../gateway/gate.ts'

/** Reads the gateway's requests. The gateway has already determined the client's address. */
export const gatewayReader: RequestReader<GatewayRequest> = {
  address: ({ ip }) => ip,
  peer: ({ ip }) => ip,
  header: ({ headers }, name) => joinedField(headers, name),
  method: ({ method }) => method,
  url: ({ target }) => target,
  route: ({ path }) => ({ path, caseSensitive: true, strict: false }),
}

/** Returns the lines of a field, by its name in lower case, joined by `, `. */
export function joinedField(fields: Fields, name: string): string | undefined {
  let found: string | undefined
  for (let i = 0; i < fields.length; i += 2) {
    const key = fields[i]
    if (key.length !== name.length || key.toLowerCase() !== name) continue
    found = found === undefined ? fields[i + 1] : `${found}, ${fields[i + 1]}`
  }
  return found
}
