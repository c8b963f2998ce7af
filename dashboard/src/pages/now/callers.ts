/** An Entry is one part of whom a counter is about. */
export interface Entry {
  readonly key: string
  readonly value: string
}

/** A value that ends like this was hashed: it is a secret, or long. */
const HASHED = /~[0-9a-f]{16}$/

/** entriesOf reads the key of a counter, as the service formats it: `user=ann|endpoint=/v1`. Values may hold anything but `|NAME=`. */
export function entriesOf(key: string): readonly Entry[] {
  return key
    .split(/\|(?=[^|=]+=)/)
    .filter((part) => part !== '')
    .map((part) => {
      const at = part.indexOf('=')
      return at < 0 ? { key: part, value: '' } : { key: part.slice(0, at), value: part.slice(at + 1) }
    })
}

/** explainHref leads to the page that explains what would happen to a request now. What was hashed is left for the reader to fill in. */
export function explainHref(domain: string, counter: string): string {
  const entries = entriesOf(counter).map(({ key, value }) => ({ key, value: HASHED.test(value) ? '' : value }))
  return `/explain?q=${encodeURIComponent(JSON.stringify({ domain, descriptors: [{ entries }] }))}`
}

/** blockHref leads to a new block, filled in; what is neither a customer nor a key cannot be blocked from here. */
export function blockHref(caller: {
  readonly customer_id: string | null
  readonly api_key_id: string | null
}): string | undefined {
  if (caller.customer_id !== null) return `/blocks?new=${encodeURIComponent(`customer:${caller.customer_id}`)}`
  if (caller.api_key_id !== null) return `/blocks?new=${encodeURIComponent(`key:${caller.api_key_id}`)}`
  return undefined
}

/**
 * heldRows keeps rows in their places, with the newest figures, while the pointer or the focus is on them: a row that moves takes the
 * focus and the click with it.
 */
export function heldRows<Row>(
  shown: readonly Row[],
  fresh: readonly Row[],
  keyOf: (row: Row) => string,
): readonly Row[] {
  const byKey = new Map(fresh.map((row) => [keyOf(row), row]))
  return shown.map((row) => byKey.get(keyOf(row)) ?? row)
}
