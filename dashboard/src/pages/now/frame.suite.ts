import type { LiveFrame } from '../../api/operations.ts'

/** frameAt is a second in which nothing happened, except what is said. */
export function frameAt(atMs: number, said: Partial<LiveFrame> = {}): LiveFrame {
  return {
    ...{
      at: new Date(atMs).toISOString(),
      at_ms: atMs,
      allowed: 0,
      refused: 0,
      shadow_refused: 0,
      p50_ms: 0,
      p99_ms: 0,
    },
    ...{ nodes: 1, nodes_away: 0, store: 'memory', database: 'none', rule_version: 'a', rules: [] },
    ...said,
  }
}
