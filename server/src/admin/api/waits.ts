import type { IncomingMessage } from 'node:http'
import { partKey } from './parts.ts'

export const CONFIRMATIONS = partKey<FleetConfirmations>('fleet')

/** A Confirmation is which nodes decide by what is in the database, with all of their processes. */
export interface Confirmation {
  /** How many were heard lately, this one among them. */
  readonly nodes: number
  readonly confirmed: number
  /** The names of the nodes that have not confirmed. */
  readonly waitingFor: readonly string[]
  /** The names of the nodes that are silent without having shut down: they are not waited for. */
  readonly away: readonly string[]
}

/** FleetConfirmations says what all nodes on the database have done. */
export interface FleetConfirmations {
  /**
   * Resolves when every node decides by what is in the database now, or when time is over. Undefined: the database is
   * unavailable.
   */
  wait(withinMs: number): Promise<Confirmation | undefined>
  /** Everything that was counted before, by nodes that were heard lately, is written. */
  completeUntilMs(): Promise<number>
}

/** How long a change waits for nodes, and at most. */
const WAIT_MS = 5_000
const MAX_WAIT_MS = 10_000
/** Names in a header: it has a bounded length. */
const MAX_NAMES = 50

/** IN_FORCE is the header that says which nodes decide by a change, a Dictionary of RFC 9651. */
export const IN_FORCE = 'Sluice-In-Force'

/**
 * Returns how long an answer is to wait for other nodes: `?wait=all`, or `Prefer: wait=SECONDS` of RFC 7240. Undefined:
 * not at all.
 */
export function waitMsOf({ headers }: Pick<IncomingMessage, 'headers'>, wait: unknown): number | undefined {
  const preferences = [headers.prefer ?? []].flat().join(',').toLowerCase().split(/[,;]/)
  const preferred = preferences.map((each) => /^\s*wait\s*=\s*"?(\d{1,9})"?\s*$/.exec(each)?.[1]).find(Boolean)
  if (preferred !== undefined) return Math.min(Number(preferred) * 1_000, MAX_WAIT_MS)
  return wait === 'all' ? WAIT_MS : undefined
}

/**
 * Returns the value of the header: `nodes=3, confirmed=2, waiting_for=("b")`; `unknown` where that cannot be found out.
 */
export function inForceField(confirmation: Confirmation | undefined): string {
  if (confirmation === undefined) return 'unknown'
  const { nodes, confirmed, waitingFor, away } = confirmation
  const lists = [
    ['waiting_for', waitingFor],
    ['away', away],
  ] as const
  const named = lists.flatMap(([key, names]) => (names.length === 0 ? [] : [`${key}=(${namesOf(names)})`]))
  return [`nodes=${nodes}`, `confirmed=${confirmed}`, ...named].join(', ')
}

function namesOf(names: readonly string[]): string {
  return names
    .slice(0, MAX_NAMES)
    .map((name) => `"${name.replaceAll(/[^\x20-\x7e]/g, '?').replaceAll(/["\\]/g, '\\$&')}"`)
    .join(' ')
}
