import type { RuleDocument } from 'sluice/internal/core/rules/rule-document'
import type { DescriptorRule, RateLimitRule, RuleFile } from 'sluice/internal/core/rules/schema'
import { GATEWAY_DOMAIN, type Owner } from '../planned-route.ts'
import type { Diagnostics, Path } from './diagnostics.ts'

/** A limit as a rule: whose it is, and where it stands in the file. */
export interface WrittenLimit {
  readonly name: string
  readonly rule: RateLimitRule
  readonly owners: readonly Owner[]
  /** All callers share it where no source has a value. */
  readonly isShared: boolean
  readonly isShadow: boolean
  readonly at: Path
}

/**
 * Writes the limits of a routes file as rules of a separate domain: `route` and `limit` identify limits, the entry
 * below them callers. So whatever works with rules works with them.
 */
export class RuleWriter {
  readonly #descriptors: DescriptorRule[] = []
  /** Where parts of the rules stand in the routes file, by their paths. */
  readonly #origins: { readonly path: string; readonly at: Path; readonly length: number }[] = []

  /** Adds the limits of a route, or, without one, of all requests. */
  addLimits(route: string | undefined, limits: readonly WrittenLimit[]): void {
    if (limits.length === 0) return
    const list = route === undefined ? this.#descriptors : this.#routeList(route)
    const at = route === undefined ? ['descriptors'] : ['descriptors', this.#descriptors.length - 1, 'descriptors']
    for (const limit of limits) {
      list.push(this.#levelOf(limit, [...at, list.length]))
    }
  }

  /** Returns the rules. Undefined: there are none. */
  file(): RuleFile | undefined {
    return this.#descriptors.length === 0 ? undefined : { domain: GATEWAY_DOMAIN, descriptors: this.#descriptors }
  }

  /** Returns the rules with the places of the routes file, for checks. */
  document(file: RuleFile, diagnostics: Diagnostics): RuleDocument {
    const origin = (path: Path): Path => {
      const text = JSON.stringify(path)
      const found = this.#origins.findLast((each) => text.startsWith(each.path))
      return found === undefined ? [] : [...found.at, ...path.slice(found.length)]
    }
    const locate = (path: Path, of?: 'key' | 'value'): string => diagnostics.locate(origin(path), of)
    return { value: file, locate, line: locate }
  }

  #routeList(route: string): DescriptorRule[] {
    const list: DescriptorRule[] = []
    this.#descriptors.push({ key: 'route', value: route, descriptors: list })
    return list
  }

  #levelOf({ name, rule, owners, isShared, isShadow, at }: WrittenLimit, path: Path): DescriptorRule {
    const modes = isShadow ? { shadow_mode: true } : {}
    const below: DescriptorRule[] = []
    for (const owner of owners)
      this.#addOwner(below, owner, { ...modes, rate_limit: rule }, [...path, 'descriptors'], at)
    this.#origin([...path, 'rate_limit'], at)
    return {
      key: 'limit',
      value: name,
      ...modes,
      ...(isShared && { rate_limit: rule }),
      ...(below.length > 0 && { descriptors: below }),
    }
  }

  /** Writes one level for each part of an owner. Owners that begin alike share levels. */
  #addOwner(
    list: DescriptorRule[],
    [{ key, isSecret }, ...rest]: Owner,
    limit: Omit<DescriptorRule, 'key'>,
    path: Path,
    at: Path,
  ): void {
    const known = list.findIndex((each) => each.key === key)
    const position = known < 0 ? list.length : known
    const level: DescriptorRule = list[position] ?? { key, ...(isSecret && { secret: true }) }
    const here: Path = [...path, position]
    if (rest.length === 0) {
      this.#origin([...here, 'rate_limit'], at)
      list[position] = { ...level, ...limit }
      return
    }
    const below = [...(level.descriptors ?? [])]
    this.#addOwner(below, rest, limit, [...here, 'descriptors'], at)
    list[position] = { ...level, descriptors: below }
  }

  #origin(path: Path, at: Path): void {
    this.#origins.push({ path: JSON.stringify(path).slice(0, -1), at, length: path.length })
  }
}
