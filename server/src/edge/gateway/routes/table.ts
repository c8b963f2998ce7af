import { got, SluiceError } from 'sluice/internal/core/errors'
import { canonicalPath, folded, shapeOf, UNUSUAL, withoutEnd } from 'sluice/internal/http-door/request-path'
import { type Fault, fault } from '../gateway-error.ts'
import type { Route, RoutingTable } from '../options.ts'
import type { UpstreamGroup } from '../upstreams/upstream-group.ts'
import { type PathReading, readPath } from './path-reading.ts'
import type { RouteSettings } from './route-settings.ts'
import { type Match, RouteTree } from './route-tree.ts'

/** A route, and what of a request fits where. */
export interface Found {
  readonly route: Route
  readonly settings: RouteSettings
  /** The path as rules are asked about it: folded, unless the route looks at case. */
  readonly path: string
  /** The same with path parameters, where the request has some. */
  readonly otherPath: string | undefined
  /** The target as it goes to the upstream. */
  readonly target: string
  readonly parameters: ReadonlyMap<string, string>
}

/** Says why a request has no route; `allow` has the methods that there are routes for. */
export interface NotFound extends Fault {
  readonly allow: string | undefined
}

const NONE: ReadonlyMap<string, string> = new Map()
const HOST = /^(?:\*|(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])$/i

/** Routes and upstreams, ready for requests. It never changes. */
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
          `${got(route.upstream)}. Known upstreams: ${names}`,
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

  /** Returns the route of a request, by its host (in lower case), target and method. */
  find(host: string, target: string, method: string): Found | NotFound {
    const query = target.indexOf('?')
    const path = target === '*' ? '/' : query < 0 ? target : target.slice(0, query)
    const shape = shapeOf(path)
    const reading = (shape & UNUSUAL) === 0 ? undefined : readPath(path)
    if (typeof reading === 'string') return ambiguous(reading)
    const exact = withoutEnd(reading?.exact ?? path)
    const loose = shape === 0 ? exact : folded(exact)
    const match = this.#match(host, exact, loose, method, undefined)
    if (match === undefined) return this.#notFound(host, exact, loose, method)
    if (reading === undefined) return foundOf(match, exact, loose, target)
    const wrong = this.#ambiguity(host, reading, match, method)
    if (wrong !== undefined) return ambiguous(wrong)
    return foundOf(match, exact, loose, target, reading, query < 0 ? '' : target.slice(query))
  }

  /** Returns what the upstream of a route could read in another way. */
  #ambiguity(
    host: string,
    { hasEncodedSlash, literal }: PathReading,
    found: Match,
    method: string,
  ): string | undefined {
    if (hasEncodedSlash && !found.entry.settings.keepsEncodedSlashes) {
      return '%2F or %5C; a route that takes them says encoded_slashes: keep'
    }
    if (literal === undefined) return undefined
    const path = withoutEnd(literal)
    const other = this.#match(host, path, folded(path), method, undefined)
    return other?.entry === found.entry
      ? undefined
      : 'a path parameter (;) that leads to another route than the path without it'
  }

  #notFound(host: string, path: string, loose: string, method: string): NotFound {
    const allowed = new Set<string>()
    this.#match(host, path, loose, method, allowed)
    if (allowed.size === 0) {
      return { ...fault('GATEWAY_ROUTE_MISSING', 'no route has this host and path'), allow: undefined }
    }
    const allow = [...allowed].join(', ')
    return { ...fault('GATEWAY_METHOD_NOT_ALLOWED', `${method} is not one of ${allow}`), allow }
  }

  #match(
    host: string,
    path: string,
    loose: string,
    method: string,
    allowed: Set<string> | undefined,
  ): Match | undefined {
    const exact = this.#exact.get(host)?.find(path, loose, method, allowed)
    if (exact !== undefined) return exact
    for (const [end, tree] of this.#ends) {
      const match = host.endsWith(end) && host.length > end.length ? tree.find(path, loose, method, allowed) : undefined
      if (match !== undefined) return match
    }
    return this.#any.find(path, loose, method, allowed)
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

function ambiguous(detail: string): NotFound {
  return { ...fault('GATEWAY_PATH_AMBIGUOUS', `the path has ${detail}`), allow: undefined }
}

function foundOf(
  { entry, values }: Match,
  exact: string,
  loose: string,
  target: string,
  reading?: PathReading,
  query = '',
): Found {
  const { route, settings, names } = entry
  const parameters =
    names.length === 0 ? NONE : new Map(names.map((name, i): [string, string] => [name, values[i] as string]))
  const path = settings.caseSensitive ? exact : loose
  if (reading === undefined) return { route, settings, path, otherPath: undefined, target, parameters }
  const { sent, literal } = reading
  return {
    route,
    settings,
    // Rules about paths have slashes instead of these, see canonicalPath.
    path: reading.hasEncodedSlash ? path.replace(/%(?:2f|5c)/gi, '/') : path,
    otherPath: literal && canonicalPath(literal, { caseSensitive: settings.caseSensitive, strict: false }),
    target: settings.forwardsAsSent ? target : sent + query,
    parameters,
  }
}
