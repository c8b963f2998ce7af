/** Routing is what of a path a router does not look at. */
export interface Routing {
  /** /Login is another path than /login. */
  readonly caseSensitive: boolean
  /** /login/ is another path than /login. */
  readonly strict: boolean
}

/** A Route is where a framework leads a request to. */
export interface Route extends Routing {
  /** The route that was found, as the app wrote it, if it has no parameters; otherwise the path of the request. */
  readonly path: string
}

/** LOOSE is for routers that nobody knows: many look at neither case nor a slash at the end. */
export const LOOSE: Routing = { caseSensitive: false, strict: false }

/** targetPath returns the path of a request's target: `/a` of `/a?b`, of `/a#b` and of `http://host/a`. */
export function targetPath(target: string): string {
  const scheme = /^[a-z][a-z0-9+.-]*:[\\/]{2}[^\\/?#]*/i.exec(target)
  const start = scheme === null ? 0 : scheme[0].length
  const length = target.slice(start).search(/[?#]/)
  return target.slice(start, length < 0 ? undefined : start + length) || '/'
}

/** What a path may have that is not its one spelling: an escape, a backslash, a capital, an empty or a dot segment. */
const UNUSUAL = /[%\\A-Z\u0080-\uffff]|\/[/.]|.\/$/

/**
 * canonicalPath returns the one spelling that all spellings of a path have in common: characters instead of escapes (save
 * those that would read otherwise: %2F, %3F, %25 and their like), no empty segments and none of dots. Case and a slash at
 * the end are kept where the router looks at them.
 */
export function canonicalPath(path: string, { caseSensitive, strict }: Routing): string {
  if (!UNUSUAL.test(path)) return path
  const decoded = path.replace(/(?:%[0-9a-f]{2})+/gi, decodedRun).replaceAll('\\', '/')
  const resolved = withoutDots(decoded)
  const ended = strict || resolved.length === 1 || !resolved.endsWith('/') ? resolved : resolved.slice(0, -1)
  return caseSensitive ? ended : ended.toLowerCase()
}

/** decodedRun decodes escapes that stand together. Those that are no UTF-8 stay as they are. */
function decodedRun(run: string): string {
  const upper = run.toUpperCase()
  try {
    return decodeURI(upper.replaceAll('%25', '%2525'))
  } catch {
    return upper
  }
}

function withoutDots(path: string): string {
  if (!path.startsWith('/')) return path
  const segments: string[] = []
  let isFolder = true
  for (const segment of path.split('/')) {
    isFolder = segment === '' || segment === '.' || segment === '..'
    if (segment === '..') segments.pop()
    else if (!isFolder) segments.push(segment)
  }
  return segments.length === 0 ? '/' : `/${segments.join('/')}${isFolder ? '/' : ''}`
}

/** canonicalMethod returns what a request is counted as: whoever answers GET answers HEAD. */
export function canonicalMethod(method: string): string {
  const upper = method.toUpperCase()
  return upper === 'HEAD' ? 'GET' : upper
}
