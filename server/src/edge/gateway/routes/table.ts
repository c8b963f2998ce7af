import { got, SluiceError } from 'sluice/internal/core/errors'
import { canonicalPath } from 'sluice/internal/http-door/request-path'
import { type Fault, fault } from '../gateway-error.ts'
import type { Route, RoutingTable } from '../options.ts'
import type { UpstreamGroup } from '../upstreams/upstream-group.ts'
import type { RouteSettings } from './route-settings.ts'
import { type Match, RouteTree } from './route-tree.ts'

/** Found is a route, and what of a request fits where. */
export interface Found {
  readonly route: Route
  readonly settings: RouteSettings
  readonly path: string
  readonly parameters: ReadonlyMap<string, string>
}

/** NotFound says why there is no route; `allow` has the methods that there are routes for. */
export interface NotFound extends Fault {
  readonly allow: string | undefined
}

const NONE: ReadonlyMap<string, string> = new Map()
const ROUTING = { caseSensitive: true, strict: false }
const HOST = /^(?:\*|(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])$/i

/** Table is routes and upstreams, ready for requests. It never changes. */
export class Table {
  readonly #exact = new Map<string, RouteTree>()
  /** By their ends, such as `.example.com`; the longest first. */
  readonly #ends: [end: string, tree: RouteTree][] = []
  readonly #any = new RouteTree()
  readonly #upstreams: ReadonlyMap<string, UpstreamGroup>

  constructor({ routes }: RoutingTable, upstreams: ReadonlyMap<string, UpstreamGroup>) {
    this.#upstreams = upstreams
    for (const [i, route] of routes.entries()) {
      const where = `routes[${i}]`
      this.#treeOf(route.host ?? '*', `${where}.host`).add(route, where)
      if (!upstreams.has(route.upstream)) {
        const names = [...upstreams.keys()].join(', ')
        throw new SluiceError(
          'GATEWAY_OPTIONS_INVALID',
          `${where}.upstream`,
          `${got(route.upstream)}; there are: ${names}`,
        )
      }
    }
    this.#ends.sort(([a], [b]) => b.length - a.length)
  }

  get upstreams(): ReadonlyMap<string, UpstreamGroup> {
    return this.#upstreams
  }

  upstream(route: Route): UpstreamGroup {
    return this.#upstreams.get(route.upstream) as UpstreamGroup
  }

  /** find returns the route of a request, by its host (in lower case), target and method. */
  find(host: string, target: string, method: string): Found | NotFound {
    const path = pathOf(target)
    const match = this.#match(host, path, method, undefined)
    if (match !== undefined) return foundOf(match, path)
    const allowed = new Set<string>()
    this.#match(host, path, method, allowed)
    if (allowed.size === 0) {
      return { ...fault('GATEWAY_ROUTE_MISSING', 'no route has this host and path'), allow: undefined }
    }
    const allow = [...allowed].join(', ')
    return { ...fault('GATEWAY_METHOD_NOT_ALLOWED', `${method} is none of ${allow}`), allow }
  }

  #match(host: string, path: string, method: string, allowed: Set<string> | undefined): Match | undefined {
    const exact = this.#exact.get(host)?.find(path, method, allowed)
    if (exact !== undefined) return exact
    for (const [end, tree] of this.#ends) {
      const match = host.endsWith(end) && host.length > end.length ? tree.find(path, method, allowed) : undefined
      if (match !== undefined) return match
    }
    return this.#any.find(path, method, allowed)
  }

  #treeOf(host: string, where: string): RouteTree {
    if (!HOST.test(host)) {
      const rule = 'a host is a name, *.name or *, without a port'
      throw new SluiceError('GATEWAY_OPTIONS_INVALID', where, `${got(host)}, and ${rule}`)
    }
    if (host === '*') return this.#any
    const lower = host.toLowerCase()
    if (!lower.startsWith('*.')) return treeIn(this.#exact, lower)
    const known = this.#ends.find(([end]) => end === lower.slice(1))
    if (known !== undefined) return known[1]
    const tree = new RouteTree()
    this.#ends.push([lower.slice(1), tree])
    return tree
  }
}

function treeIn(trees: Map<string, RouteTree>, host: string): RouteTree {
  const tree = trees.get(host) ?? new RouteTree()
  trees.set(host, tree)
  return tree
}

/** pathOf is a target's path in its one spelling: what all its spellings lead to, they lead to here too. */
function pathOf(target: string): string {
  if (target === '*') return '/'
  const query = target.indexOf('?')
  return canonicalPath(query < 0 ? target : target.slice(0, query), ROUTING)
}

function foundOf({ entry, values }: Match, path: string): Found {
  const { route, settings, names } = entry
  const parameters =
    names.length === 0 ? NONE : new Map(names.map((name, i): [string, string] => [name, values[i] as string]))
  return { route, settings, path, parameters }
}
