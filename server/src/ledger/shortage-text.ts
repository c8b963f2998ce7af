import type { Shortage } from './core/account-state.ts'
import type { Parts } from './core/lot.ts'

const timeText = (ms: number): string => new Date(ms).toISOString()

const NEEDS = { allowance: 'the allowance of the period', grants: 'grants', credits: 'bought credits' } as const

/** Returns the parts of the waterfall as programs read them. */
export const partsJson = ({ allowance, grants, credits, overdraft }: Readonly<Parts>) => ({
  allowance,
  grants,
  credits,
  overdraft,
})

/** Returns what an account could pay with. */
export const leftIn = ({ allowance, grants, credits, overdraft }: Readonly<Parts>): number =>
  allowance + grants + credits + overdraft

/** Says in a sentence which parts ran out, and what would help. */
export function shortText({ needed: amount, available, ranOut, renewsAtMs }: Shortage): string {
  const parts = ranOut.map((part) => NEEDS[part]).join(', then ')
  const help =
    renewsAtMs === undefined ? 'more credits' : `the next allowance, at ${timeText(renewsAtMs)}, or more credits`
  return `needs ${amount}, and ${leftIn(available)} are left after ${parts}. What would help: ${help}`
}

/** Says the same to programs. */
export function shortJson({ needed, available, ranOut, renewsAtMs }: Shortage): Readonly<Record<string, unknown>> {
  return {
    needed,
    available: partsJson(available),
    ran_out: ranOut,
    renews_at: renewsAtMs === undefined ? null : timeText(renewsAtMs),
    would_help: wouldHelp(renewsAtMs),
  }
}

export const wouldHelp = (renewsAtMs: number | undefined): readonly string[] =>
  renewsAtMs === undefined ? ['credits'] : ['next_period', 'credits']

export const periodJson = ({ startMs, endMs }: { readonly startMs: number; readonly endMs: number }) => ({
  start: timeText(startMs),
  end: timeText(endMs),
})
