import type { Issue } from '../schema/check.ts'

type Tree = Record<PropertyKey, unknown>

/**
 * Returns a copy of a rule file without the parts that do not follow the language, so that the rest can be checked as
 * well, and one run reports all errors. What cannot be left out (a level, a key) is replaced by something valid that
 * has no effect. `first` numbers the replacements: no two files have the same.
 */
export function salvage(value: unknown, issues: readonly Issue[], first: number): unknown {
  const root = copyOf(value)
  issues.forEach((issue, i) => {
    repair(root, issue, `?${first + i}`)
  })
  return root
}

function repair(root: unknown, issue: Issue, placeholder: string): void {
  const { path } = issue
  const last = path.at(-1)
  const limit = path.findLastIndex((part) => part === 'rate_limit' || part === 'rate_limits')
  if (limit >= 0) repairLimit(root, path, limit)
  else if (path[0] === 'tiers' && path.length <= 2) repairTiers(root, path, placeholder)
  else if (issue.of === 'unknown keys') {
    for (const key of issue.unknownKeys) set(root, [...path, key], undefined)
    if (typeof last === 'number') makeUnique(root, path, placeholder)
  } else if (typeof last === 'number') set(root, path, { key: placeholder, enabled: false })
  else if (last === 'key' || last === 'domain') set(root, path, placeholder)
  else {
    set(root, path, undefined)
    if (last === 'value' || last === 'cidr') makeUnique(root, path.slice(0, -1), placeholder)
  }
}

/** Removes a wrong limit; in a list another takes its place, so that those after it keep their positions. */
function repairLimit(root: unknown, path: readonly PropertyKey[], at: number): void {
  const inList = path[at] === 'rate_limits' && typeof path[at + 1] === 'number'
  set(root, path.slice(0, at + (inList ? 2 : 1)), inList ? { unlimited: true } : undefined)
}

/** Leaves a tier behind, so that `tiered` does not look wrong where it is not. */
function repairTiers(root: unknown, path: readonly PropertyKey[], placeholder: string): void {
  if (path.length === 2) set(root, path, undefined)
  else set(root, path, {})
  set(root, ['tiers', placeholder], {})
}

/** Gives a descriptor that lost its value another: as a bare key it would look like one that is there. */
function makeUnique(root: unknown, path: readonly PropertyKey[], placeholder: string): void {
  const descriptor = at(root, path)
  if (isTree(descriptor) && descriptor.value === undefined && descriptor.cidr === undefined) {
    descriptor.value = `${placeholder}*`
  }
}

/** Changes what stands at a path; undefined takes it away. A path that is not there is left alone. */
function set(root: unknown, path: readonly PropertyKey[], value: unknown): void {
  const last = path.at(-1)
  const parent = at(root, path.slice(0, -1))
  if (!isTree(parent) || last === undefined) return
  if (value === undefined) delete parent[last]
  else parent[last] = value
}

function at(root: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((tree, part) => (isTree(tree) ? tree[part] : undefined), root)
}

function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyOf)
  if (!isTree(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, copyOf(part)]))
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null
}
