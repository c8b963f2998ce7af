/** An Entry is one part of whom a counter is about. */
export interface Entry {
  readonly key: string
  readonly value: string
}

/** A value that ends like this was hashed: it is a secret, or long. */
const HASHED = /~[0-9a-f]{16}$/

/** entriesOf reads whom a counter is about, as the service spells it: `user=ann|endpoint=/v1`. Values may hold anything but `|NAME=`. */
export function entriesOf(spelled: string): readonly Entry[] {
  return spelled
    .split(/\|(?=[^|=]+=)/)
    .filter((part) => part !== '')
    .map((part) => {
      const at = part.indexOf('=')
      return at < 0 ? { key: part, value: '' } : { key: part.slice(0, at), value: part.slice(at + 1) }
    })
}

/** explainHref leads to the page that explains what would happen to a request now. What was hashed is left for the reader to fill in. */
export function explainHref(domain: string, spelled: string): string {
  const entries = entriesOf(spelled).map(({ key, value }) => ({ key, value: HASHED.test(value) ? '' : value }))
  return `/explain?q=${encodeURIComponent(JSON.stringify({ domain, descriptors: [{ entries }] }))}`
}

export const customerHref = (id: string): string => `/customers/${encodeURIComponent(id)}`

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
 * heldRows keeps rows where they are while somebody is on them, with the newest figures: a row that moves takes the focus and the
 * click with it.
 */
export function heldRows<Row>(
  shown: readonly Row[],
  fresh: readonly Row[],
  keyOf: (row: Row) => string,
): readonly Row[] {
  const byKey = new Map(fresh.map((row) => [keyOf(row), row]))
  return shown.map((row) => byKey.get(keyOf(row)) ?? row)
}
