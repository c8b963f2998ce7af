import type { BreakerState } from 'sluice/internal/engine/circuit-breaker'
import type { LiveRuleCounts } from '../../observe/live/live-report.ts'
import { isCount, isWhole } from '../fleet/read-values.ts'

/** A WorkerState is one process of a node that answers requests. */
export interface WorkerState {
  readonly id: string
  readonly state: string
  readonly startedAtMs: number
  readonly pid: number | undefined
  /** Of the last second. Undefined: it has reported nothing yet. */
  readonly decisionsPerSecond: number | undefined
}

/** A NodeState is one node of the fleet. */
export interface NodeState {
  /** Of this run: a node that is started again has another. */
  readonly id: string
  /** What people call it: the same after a restart. */
  readonly name: string
  readonly host: string
  readonly isHere: boolean
  readonly isAway: boolean
  readonly startedAtMs: number
  readonly seenAtMs: number
  /** Of a node that is silent: until when it is listed, unless one of its name is started. */
  readonly listedUntilMs: number | undefined
  readonly version: string
  readonly ruleVersion: string
  /** Of the quotas that it decides by. */
  readonly revision: number
  readonly store: 'memory' | 'up' | 'away'
  /**
   * The worst of its processes and of the store's servers. Undefined: counters are in memory, or nothing was reported
   * yet.
   */
  readonly circuit: BreakerState | undefined
  /** Of the last second. */
  readonly decisionsPerSecond: number
  /** Resident memory of all its processes. */
  readonly memoryBytes: number
  /** How late the event loop of its slowest process was, at the 99th percentile of the last second. */
  readonly eventLoopDelayMs: number | undefined
  /** Where its admin port listens, as it knows it. */
  readonly adminAddress: string | undefined
  readonly workers: readonly WorkerState[]
}

/** Figures are what a node decided in one second. */
export interface Figures {
  readonly allowed: number
  readonly refused: number
  readonly shadowRefused: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly rules: readonly LiveRuleCounts[]
}

export const NO_FIGURES: Figures = Object.freeze({
  allowed: 0,
  refused: 0,
  shadowRefused: 0,
  p50Ms: 0,
  p99Ms: 0,
  rules: Object.freeze([]),
})

/** What a node reports to the others about itself. */
export interface NodeNote extends Omit<NodeState, 'isHere' | 'isAway' | 'seenAtMs' | 'listedUntilMs'> {
  readonly atMs: number
  /** It is shutting down, and need not be reported as silent. */
  readonly isLeaving: boolean
  readonly figures: Figures
}

/** Rules of a note: enough for the busiest of a fleet. */
const MAX_NOTE_RULES = 50
const MAX_TEXT = 256

/** Formats a note. */
export function noteText(note: NodeNote): string {
  const { figures } = note
  return JSON.stringify({ ...note, figures: { ...figures, rules: figures.rules.slice(0, MAX_NOTE_RULES) } })
}

/** Checks a note that another program may have written. Undefined: it is none. */
export function readNote(text: string): NodeNote | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  // Nodes of the version before report less.
  const note = isRecord(value) ? { ...NOT_TOLD, name: value.host, ...value } : value
  return isNote(note) ? note : undefined
}

const NOT_TOLD = { decisionsPerSecond: 0, memoryBytes: 0 }

function isNote(value: unknown): value is NodeNote {
  if (!isRecord(value) || typeof value.isLeaving !== 'boolean') return false
  if (!['id', 'name', 'host', 'version', 'ruleVersion'].every((name) => isText(value[name]))) return false
  if (!['startedAtMs', 'atMs', 'revision'].every((name) => isCount(value[name]))) return false
  if (!LOAD.every((name) => isWhole(value[name]))) return false
  if (!['memory', 'up', 'away'].includes(value.store as string)) return false
  if (![undefined, 'closed', 'half_open', 'open'].includes(value.circuit as string | undefined)) return false
  if (!orNone(isCount)(value.eventLoopDelayMs) || !orNone(isText)(value.adminAddress)) return false
  return (
    Array.isArray(value.workers) &&
    value.workers.length <= 1_024 &&
    value.workers.every(isWorker) &&
    isFigures(value.figures)
  )
}

const LOAD = ['decisionsPerSecond', 'memoryBytes']

function isWorker(value: unknown): boolean {
  if (!isRecord(value) || !isText(value.id) || !isText(value.state) || !isCount(value.startedAtMs)) return false
  return orNone(isWhole)(value.pid) && orNone(isWhole)(value.decisionsPerSecond)
}

function orNone(is: (value: unknown) => boolean): (value: unknown) => boolean {
  return (value) => value === undefined || is(value)
}

function isFigures(value: unknown): boolean {
  if (!isRecord(value) || !['p50Ms', 'p99Ms', ...COUNTS].every((name) => isCount(value[name]))) return false
  return Array.isArray(value.rules) && value.rules.length <= MAX_NOTE_RULES && value.rules.every(isRule)
}

const COUNTS = ['allowed', 'refused', 'shadowRefused']

function isRule(value: unknown): boolean {
  // Ids of rules are as long as their authors make them.
  if (!isRecord(value) || typeof value.domain !== 'string' || typeof value.id !== 'string') return false
  return COUNTS.every((name) => isCount(value[name]))
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value.length <= MAX_TEXT
}
