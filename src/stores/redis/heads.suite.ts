const HEAD_DOUBLES = 5
const LEASE_MS = 5_000

/** Returns the head of a book of which something is out, held by one, as exchange.lua writes it. */
export function packedHead(out: number, nowMs: number): Buffer {
  const head = Buffer.alloc(8 * HEAD_DOUBLES)
  const numbers = [out, out > 0 ? 1 : 0, nowMs + LEASE_MS, nowMs, nowMs + 2 * LEASE_MS]
  numbers.forEach((value, i) => void head.writeDoubleLE(value, 8 * i))
  return head
}
