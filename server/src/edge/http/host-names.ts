import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { got, SluiceError } from 'sluice/internal/core/errors'

const HOST = /^(?:\[([^\]]*)\]|([^:]*))(?::\d{0,5})?$/

/**
 * The names that a server accepts, in addition to every address and localhost. A page of another name could have that
 * name resolve to this server once it is loaded (DNS rebinding); its browser would then let it read the answers. No
 * page can have an address or localhost as its name unless it came from there.
 */
export class HostNames {
  readonly #names: ReadonlySet<string>

  constructor(names: readonly string[]) {
    this.#names = new Set(['localhost', ...names.map((name) => name.toLowerCase())])
  }

  /** Throws when a request names another host. One that names none is not from a browser. */
  require({ headers: { host } }: IncomingMessage): void {
    if (host !== undefined && !this.#has(host)) throw new SluiceError('HOST_UNKNOWN', 'host', got(host))
  }

  #has(host: string): boolean {
    const [, bracketed, name] = HOST.exec(host) ?? []
    if (bracketed !== undefined) return isIP(bracketed) === 6
    return name !== undefined && (isIP(name) === 4 || this.#names.has(name.toLowerCase()))
  }
}
