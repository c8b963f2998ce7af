/** latencyText shortens the time of a decision, which is often a few microseconds: 40 µs, 1.2 ms, 35 ms, 1.2 s. */
export function latencyText(ms: number): string {
  if (ms === 0) return '0'
  if (ms < 0.9995) return `${Math.max(1, Math.round(ms * 1_000))} µs`
  if (ms < 10) return `${Math.round(ms * 10) / 10} ms`
  return ms < 999.5 ? `${Math.round(ms)} ms` : `${Math.round(ms / 100) / 10} s`
}
