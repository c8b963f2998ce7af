import { type Route, targetPath } from '../../http-door/request-path.ts'

interface RouterSettings {
  readonly caseSensitive?: boolean
  readonly ignoreTrailingSlash?: boolean
  readonly useSemicolonDelimiter?: boolean
}

/** What of a request of Fastify says where it goes. */
export interface FastifyRouted {
  readonly url: string
  readonly routeOptions: { readonly url?: string | undefined }
  readonly server: {
    readonly prefix: string
    readonly initialConfig: RouterSettings & { readonly routerOptions?: RouterSettings }
  }
}

/** Returns where Fastify leads a request to: it has found the route before any hook is called. */
export function fastifyRoute(request: FastifyRouted): Route {
  const { initialConfig, prefix } = request.server
  const settings = { ...initialConfig.routerOptions }
  const { url } = request.routeOptions
  const isFixed = url !== undefined && !/[:*]/.test(url)
  return {
    // The root of a prefix has two routes to one handler, which Fastify may call by either: with a slash, and without.
    path: isFixed ? (url === `${prefix}/` && prefix !== '' ? prefix : url) : pathOf(request.url, settings),
    caseSensitive: initialConfig.caseSensitive !== false && settings.caseSensitive !== false,
    strict: initialConfig.ignoreTrailingSlash !== true && settings.ignoreTrailingSlash !== true,
  }
}

/** For routes with parameters, and for what has no route. */
function pathOf(url: string, { useSemicolonDelimiter }: RouterSettings): string {
  const path = targetPath(url)
  return useSemicolonDelimiter === true ? path.replace(/;.*/s, '') : path
}
