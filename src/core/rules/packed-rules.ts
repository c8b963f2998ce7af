import type { LimitOptions } from '../limit.ts'
import type { LimitDefaults } from '../limit-options.ts'
import type { PathStep, Rule } from './rule-set.ts'

/** What rules have in common that differ in their id, name, limit and path alone. */
export type RuleSettings = Omit<Rule, 'id' | 'name' | 'limit' | 'path'>

/** The kinds of arrays that indexes are made of. */
export type IndexArray = Int32Array | Uint32Array | Uint16Array

/**
 * A step on the way to a RuleSet, small enough to be taken in a moment. Limits, steps, paths, settings and nodes are
 * numbered in the order in which they come, and only refer to those before them. All nodes come before the branches
 * that join them. Whatever is said about a branch follows it.
 */
export type PackedRecord =
  | readonly [kind: 'limit', options: LimitOptions]
  | readonly [kind: 'step', step: PathStep]
  /** The path to begin with, or -1 for the empty one, and the step to add. */
  | readonly [kind: 'path', parent: number, step: number]
  | readonly [kind: 'settings', settings: RuleSettings]
  | readonly [kind: 'node', node: PackedNode]
  /** `any` is the node of every other value, or -1. */
  | readonly [kind: 'branch', node: number, key: string, any: number]
  | readonly [kind: 'exact', values: readonly string[], nodes: readonly number[]]
  | readonly [kind: 'block', base: readonly [number, number, number, number], bits: number, node: number]
  | readonly [kind: 'wildcard', pattern: string, node: number]
  /** An array of an index: of what kind, and how long. Its parts follow. */
  | readonly [kind: 'array', like: IndexArray, length: number]
  | readonly [kind: 'array-part', at: number, part: IndexArray]
  /** The index is complete. Of wildcards: which tries there are. */
  | readonly [kind: 'blocks-end']
  | readonly [kind: 'wildcards-end', tries: readonly [starts: boolean, ends: boolean, middles: boolean]]
  | readonly [kind: 'tiers', node: number, names: readonly string[], nodes: readonly number[]]
  | readonly [kind: 'domain', domain: PackedDomain]
  | readonly [kind: 'end', ruleCount: number, version: string]

export interface PackedNode {
  readonly id: string
  /** -1 for the empty one. */
  readonly path: number
  readonly isFixed: boolean
  readonly hasBranches: boolean
  readonly hasTiers: boolean
  /** For each rule: its settings, its limit, and its name, which is '' where it is its id. */
  readonly rules: readonly (number | string)[]
}

export interface PackedDomain {
  readonly name: string
  readonly root: number
  readonly evaluatePath: boolean
  readonly hasTiers: boolean
  readonly secretKeys: readonly string[]
  readonly version: string | undefined
  readonly defaults: LimitDefaults
}

/**
 * What is sent, and taken, at a time. It holds nothing but plain values, maps and typed arrays, so that it can be
 * cloned to another thread or process.
 */
export type RulePart = readonly PackedRecord[]
