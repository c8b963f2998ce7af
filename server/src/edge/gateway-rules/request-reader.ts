import type { RequestReader } from 'sluice/internal/http-door/request-reader'
import type { Fields, GatewayRequest } from '../gateway/gate.ts'

/** gatewayReader reads the gateway's requests. Whom to believe about the client's address, the gateway has decided. */
export const gatewayReader: RequestReader<GatewayRequest> = {
  address: ({ ip }) => ip,
  peer: ({ ip }) => ip,
  header: ({ headers }, name) => joinedField(headers, name),
  method: ({ method }) => method,
  url: ({ target }) => target,
  route: ({ path }) => ({ path, caseSensitive: true, strict: false }),
}

/** joinedField is the lines of a field, by its name in lower case, joined by `, `. */
export function joinedField(fields: Fields, name: string): string | undefined {
  let found: string | undefined
  for (let i = 0; i < fields.length; i += 2) {
    const key = fields[i]
    if (key.length !== name.length || key.toLowerCase() !== name) continue
    found = found === undefined ? fields[i + 1] : `${found}, ${fields[i + 1]}`
  }
  return found
}
