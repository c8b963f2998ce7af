import { type Route, targetPath } from '../../http-door/request-path.ts'

/** What of a router says how it looks at paths. */
interface RouterLike {
  readonly caseSensitive?: boolean | undefined
  readonly strict?: boolean | undefined
  readonly stack?: readonly { readonly handle?: unknown; readonly name?: string }[]
}

interface AppLike {
  enabled(setting: string): boolean
  readonly parent?: AppLike | undefined
  readonly router?: RouterLike | undefined
  /** Where Express 4 has it. There, to ask for `router` is an error. */
  readonly _router?: RouterLike | undefined
}

/** What of a request of Express says where it goes. */
export interface ExpressRouted {
  readonly app: AppLike
  readonly baseUrl: string
  readonly originalUrl: string
  readonly path: string | null
  readonly url: string
}

/** Returns where Express leads a request to: by the path that is there now, with what routers cut off before it. */
export function expressRoute(request: ExpressRouted): Route {
  const { app, baseUrl } = request
  const strict = isEverywhere(app, 'strict routing', 'strict')
  const caseSensitive = isEverywhere(app, 'case sensitive routing', 'caseSensitive')
  const path = pathNow(request)
  // What was cut off to the end leaves a slash that was never sent.
  const isCut = path === '/' && baseUrl !== '' && !targetPath(request.originalUrl).endsWith('/')
  return { path: isCut ? baseUrl : baseUrl + path, strict, caseSensitive }
}

function pathNow(request: ExpressRouted): string {
  try {
    return request.path ?? '/'
  } catch {
    // Express finds no route for a target that cannot be read.
    return targetPath(request.url)
  }
}

/**
 * Whether a setting is on in an app and everything below it. A router has separate settings: the app's do not apply to
 * it.
 */
function isEverywhere(app: AppLike, setting: string, option: 'caseSensitive' | 'strict'): boolean {
  for (let each: AppLike | undefined = app; each !== undefined; each = each.parent) {
    if (!each.enabled(setting) || !isInAll(each._router ?? each.router, option)) return false
  }
  return true
}

function isInAll(router: RouterLike | undefined, option: 'caseSensitive' | 'strict'): boolean {
  return (router?.stack ?? []).every(({ handle, name }) => {
    // An app that is mounted cannot be looked into.
    if (name === 'mounted_app') return false
    const inner = handle as RouterLike | undefined
    return !Array.isArray(inner?.stack) || (inner[option] === true && isInAll(inner, option))
  })
}
