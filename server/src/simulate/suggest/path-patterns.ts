const MOST_KEPT = 20_000
/** A segment that names one of many: a number, a UUID, digits in hexadecimal, or a long text with digits. */
const VARIABLE = /^(?:\d+|[0-9a-f]{8}-[0-9a-f-]{27}|(?=.*\d)[0-9a-f]{8,}|(?=.*\d)[\w.~%@+-]{16,}|.{64,})$/i

/** Makes patterns of endpoints: `GET /users/42/orders` is one of `GET /users/…/orders`. */
export class PathPatterns {
  readonly #known = new Map<string, string>()

  of(endpoint: string): string {
    const known = this.#known.get(endpoint)
    if (known !== undefined) return known
    const pattern = patternOf(endpoint)
    if (this.#known.size >= MOST_KEPT) this.#known.clear()
    // A copy: a part of a block of text would keep all of it.
    this.#known.set(Buffer.from(endpoint).toString(), pattern)
    return pattern
  }
}

/** Returns an endpoint with a `*` for each segment that names one of many. A `*` in it is left to stand for anything. */
function patternOf(endpoint: string): string {
  const start = endpoint.indexOf('/')
  if (start < 0) return Buffer.from(endpoint).toString()
  const segments = endpoint.slice(start).split('/')
  const shown = segments.map((segment) => (VARIABLE.test(segment) ? '*' : segment)).join('/')
  return Buffer.from(endpoint.slice(0, start) + shown).toString()
}
