import { got, SluiceError } from 'sluice/internal/core/errors'
import type { Route } from '../options.ts'
import { type RouteSettings, routeSettings } from './route-settings.ts'

/** An Entry is a route in the tree. */
export interface Entry {
  readonly route: Route
  readonly settings: RouteSettings
  /** Names of its parameters, in their order. */
  readonly names: readonly string[]
  /** undefined: all but CONNECT and TRACE. */
  readonly methods: ReadonlySet<string> | undefined
}

/** RouteNode is a place in the tree of paths. */
interface RouteNode {
  readonly texts: Map<string, RouteNode>
  parameter: RouteNode | undefined
  readonly here: Entry[]
  readonly below: Entry[]
}

const NEVER = new Set(['CONNECT', 'TRACE'])
const USUAL = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
/** The segments of a path that nobody looks at. */
const ANYTHING: readonly string[] = ['']
const PARAMETER = /^\{([A-Za-z_]\w*)\}$/

/** Match is a route that fits, and what its parameters stand for. */
export interface Match {
  readonly entry: Entry
  readonly values: readonly string[]
}

/** RouteTree finds routes by path. A text wins over a parameter, and that over everything below. */
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
      else if (name === undefined) node = textNode(node, segment)
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

  /** find returns the route for a path and a method. Methods of routes that fit but for them are added to `allowed`. */
  find(path: string, method: string, allowed: Set<string> | undefined): Match | undefined {
    // A tree that leads everything to one place has no use for the segments.
    const isFlat = this.#root.texts.size === 0 && this.#root.parameter === undefined
    const segments = path === '/' ? [] : isFlat ? ANYTHING : path.slice(1).split('/')
    const values: string[] = []
    const entry = search(this.#root, segments, 0, method, values, allowed)
    return entry === undefined ? undefined : { entry, values }
  }
}

function search(
  node: RouteNode,
  segments: readonly string[],
  at: number,
  method: string,
  values: string[],
  allowed: Set<string> | undefined,
): Entry | undefined {
  if (at === segments.length) {
    const here = choose(node.here, method, allowed)
    if (here !== undefined) return here
  } else {
    const segment = segments[at] as string
    const text = node.texts.get(segment)
    const found = text === undefined ? undefined : search(text, segments, at + 1, method, values, allowed)
    if (found !== undefined) return found
    if (node.parameter !== undefined && segment !== '') {
      values.push(segment)
      const behind = search(node.parameter, segments, at + 1, method, values, allowed)
      if (behind !== undefined) return behind
      values.pop()
    }
  }
  return choose(node.below, method, allowed)
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
  return { texts: new Map(), parameter: undefined, here: [], below: [] }
}

function textNode(node: RouteNode, text: string): RouteNode {
  const next = node.texts.get(text) ?? emptyNode()
  node.texts.set(text, next)
  return next
}

function readTemplate(path: string, where: string): string[] {
  const segments = path.slice(1).split('/')
  if (segments.at(-1) === '') segments.pop()
  const isWrong = (segment: string, i: number): boolean =>
    segment === '' ||
    segment === '.' ||
    segment === '..' ||
    (segment === '*' ? i !== segments.length - 1 : /[*?#%\\\s]/.test(segment)) ||
    (/[{}]/.test(segment) && !PARAMETER.test(segment))
  if (path.startsWith('/') && !segments.some(isWrong)) return segments
  const rule = 'a path is / and segments: a text, {name} or, at the end, *'
  throw new SluiceError('GATEWAY_OPTIONS_INVALID', where, `${got(path)}, and ${rule}`)
}

function readMethods(methods: readonly string[], where: string): ReadonlySet<string> {
  const wrong = methods.find((method) => !/^[A-Z][A-Z-]{0,31}$/.test(method) || method === 'CONNECT')
  if (wrong === undefined && methods.length > 0) return new Set(methods)
  throw new SluiceError('GATEWAY_OPTIONS_INVALID', where, `${got(wrong)}, and a method is in capitals, and not CONNECT`)
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
