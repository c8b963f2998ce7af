import { got, SluiceError } from 'sluice/internal/core/errors'
import { folded } from 'sluice/internal/http-door/request-path'
import type { Route } from '../options.ts'
import { type RouteSettings, routeSettings } from './route-settings.ts'

/** A route in the tree. */
export interface Entry {
  readonly route: Route
  readonly settings: RouteSettings
  /** Names of its parameters, in their order. */
  readonly names: readonly string[]
  /** undefined: all but CONNECT and TRACE. */
  readonly methods: ReadonlySet<string> | undefined
}

/** A place in the tree of paths. */
interface RouteNode {
  /** Texts of routes that look at case. */
  readonly exact: Map<string, RouteNode>
  /** Texts of the others, as `folded` returns them. */
  readonly loose: Map<string, RouteNode>
  parameter: RouteNode | undefined
  readonly here: Entry[]
  readonly below: Entry[]
}

const NEVER = new Set(['CONNECT', 'TRACE'])
const USUAL = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
/** Segments for a path that matches anything. */
const ANYTHING: readonly string[] = ['']
const PARAMETER = /^\{([A-Za-z_]\w*)\}$/

/** A route that fits, and what its parameters stand for. */
export interface Match {
  readonly entry: Entry
  readonly values: readonly string[]
}

/**
 * Finds routes by path. A text in its case wins over one in any, that over a parameter, and that over everything below.
 */
export class RouteTree {
  readonly #root = emptyNode()

  add(route: Route, where: string): void {
    const segments = readTemplate(route.path, `${where}.path`)
    const names: string[] = []
    let node = this.#root
    let isBelow = false
    for (const segment of segments) {
      const [, name] = PARAMETER.exec(segment) ?? []
      if (segment === '*') isBelow = true
      else if (name === undefined && route.caseSensitive === true) node = textNode(node.exact, segment)
      else if (name === undefined) node = textNode(node.loose, folded(segment))
      else {
        names.push(name)
        node.parameter ??= emptyNode()
        node = node.parameter
      }
    }
    const methods = route.methods === undefined ? undefined : readMethods(route.methods, `${where}.methods`)
    const entries = isBelow ? node.below : node.here
    for (const other of entries) requireApart(other, methods, route, where)
    entries.push({ route, settings: routeSettings(route, where), names, methods })
  }

  /**
   * Returns the route for a path, which is also given folded, and a method. Methods of routes that fit but for them are
   * added to `allowed`.
   */
  find(path: string, loose: string, method: string, allowed: Set<string> | undefined): Match | undefined {
    // A tree that leads everything to one place has no use for the segments.
    const isFlat = this.#root.exact.size === 0 && this.#root.loose.size === 0 && this.#root.parameter === undefined
    const segments = isFlat && path !== '/' ? ANYTHING : segmentsOf(path)
    const asked: Asked = {
      segments,
      loose: isFlat || loose === path ? segments : segmentsOf(loose),
      method,
      values: [],
      allowed,
    }
    const entry = search(this.#root, asked, 0)
    return entry === undefined ? undefined : { entry, values: asked.values }
  }
}

/** What a search is for. */
interface Asked {
  readonly segments: readonly string[]
  /** The same, folded. */
  readonly loose: readonly string[]
  readonly method: string
  /** What parameters on the way stand for. */
  readonly values: string[]
  readonly allowed: Set<string> | undefined
}

function segmentsOf(path: string): readonly string[] {
  return path === '/' ? [] : path.slice(1).split('/')
}

function search(node: RouteNode, asked: Asked, at: number): Entry | undefined {
  const { segments, method, allowed } = asked
  if (at === segments.length) {
    const here = choose(node.here, method, allowed)
    if (here !== undefined) return here
  } else {
    const next = searchBelow(node, asked, at)
    if (next !== undefined) return next
  }
  return choose(node.below, method, allowed)
}

function searchBelow({ exact, loose, parameter }: RouteNode, asked: Asked, at: number): Entry | undefined {
  const segment = asked.segments[at]
  const text = exact.size === 0 ? undefined : exact.get(segment)
  const found = text && search(text, asked, at + 1)
  if (found !== undefined) return found
  const looseText = loose.get(asked.loose[at])
  const looseFound = looseText && search(looseText, asked, at + 1)
  if (looseFound !== undefined) return looseFound
  if (parameter === undefined || segment === '') return undefined
  asked.values.push(segment)
  const behind = search(parameter, asked, at + 1)
  if (behind === undefined) asked.values.pop()
  return behind
}

function choose(entries: readonly Entry[], method: string, allowed: Set<string> | undefined): Entry | undefined {
  for (const entry of entries) {
    if (takes(entry.methods, method)) return entry
    if (allowed !== undefined) for (const each of entry.methods ?? USUAL) allowed.add(each)
  }
  return undefined
}

function takes(methods: ReadonlySet<string> | undefined, method: string): boolean {
  if (methods === undefined) return !NEVER.has(method)
  return methods.has(method) || (method === 'HEAD' && methods.has('GET'))
}

function emptyNode(): RouteNode {
  return { exact: new Map(), loose: new Map(), parameter: undefined, here: [], below: [] }
}

function textNode(texts: Map<string, RouteNode>, text: string): RouteNode {
  const next = texts.get(text) ?? emptyNode()
  texts.set(text, next)
  return next
}

function readTemplate(path: string, where: string): string[] {
  const segments = path.slice(1).split('/')
  if (segments.at(-1) === '') segments.pop()
  const isWrong = (segment: string, i: number): boolean =>
    segment === '' ||
    segment === '.' ||
    segment === '..' ||
    (segment === '*' ? i !== segments.length - 1 : /[*?#%;\\\s]/.test(segment)) ||
    (/[{}]/.test(segment) && !PARAMETER.test(segment))
  if (path.startsWith('/') && !segments.some(isWrong)) return segments
  const rule = 'a path is / and segments: a text (without ; and escapes), {name} or, at the end, *'
  throw new SluiceError('GATEWAY_OPTIONS_INVALID', where, `${got(path)}, and ${rule}`)
}

function readMethods(methods: readonly string[], where: string): ReadonlySet<string> {
  const wrong = methods.find((method) => !/^[A-Z][A-Z-]{0,31}$/.test(method) || method === 'CONNECT')
  if (wrong === undefined && methods.length > 0) return new Set(methods)
  throw new SluiceError(
    'GATEWAY_OPTIONS_INVALID',
    where,
    `${got(wrong)}, expected a method in capitals other than CONNECT`,
  )
}

function requireApart(other: Entry, methods: ReadonlySet<string> | undefined, route: Route, where: string): void {
  const isApart =
    other.methods !== undefined && methods !== undefined && ![...methods].some((m) => other.methods?.has(m))
  const isNarrower = (other.methods === undefined) !== (methods === undefined)
  if (isApart) return
  const detail = isNarrower ? 'list one with methods first, and never one without methods twice' : 'they are the same'
  if (isNarrower && other.methods !== undefined) return
  throw new SluiceError('GATEWAY_OPTIONS_INVALID', where, `"${route.name}" meets "${other.route.name}": ${detail}`)
}
