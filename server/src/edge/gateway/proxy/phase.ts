import type { PhaseName } from '../gateway-options.ts'

/** How far a request has come. */
export const Phase = { peek: 0, gate: 1, connect: 2, send: 3, wait: 4, answer: 5, tunnel: 6, done: 7 } as const

const NAMES = Object.keys(Phase) as PhaseName[]

export function phaseName(phase: number): PhaseName {
  return NAMES[phase] as PhaseName
}
