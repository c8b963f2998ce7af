import type {
  ContextConfigDefault,
  FastifyReply,
  FastifyRequest,
  FastifySchema,
  preHandlerAsyncHookHandler,
  RouteGenericInterface,
} from 'fastify'
import type { Refusal } from '../../core/http/refusal.ts'
import type { Budget } from '../../http-door/budget.ts'
import type { GateOptions, Pass } from '../../http-door/gate.ts'

/** The forms in which a route can have a limit; the options of @fastify/rate-limit add theirs. */
export interface RouteLimits {
  plain: PlainOptions
}

declare module 'fastify' {
  interface FastifyInstance<RawServer, RawRequest, RawReply, Logger, TypeProvider> {
    /** Makes a hook, for routes and for the handler of unknown ones. */
    rateLimit<
      RouteGeneric extends RouteGenericInterface = RouteGenericInterface,
      ContextConfig = ContextConfigDefault,
      SchemaCompiler extends FastifySchema = FastifySchema,
    >(
      options?: RouteLimits[keyof RouteLimits],
    ): preHandlerAsyncHookHandler<
      RawServer,
      RawRequest,
      RawReply,
      RouteGeneric,
      ContextConfig,
      SchemaCompiler,
      TypeProvider,
      Logger
    >
  }

  interface FastifyContextConfig {
    /** The limit of this route; `false` for none. */
    rateLimit?: RouteLimits[keyof RouteLimits] | false
  }

  interface FastifyRequest {
    /** What remains of the tightest limit, available after the plugin's hook. */
    rateLimit: Budget
  }
}

/** What a handler of refused requests receives. */
export interface Refused {
  readonly pass: Pass
  readonly refusal: Refusal
}

/** The options of the plugin. */
export interface PlainOptions extends GateOptions<FastifyRequest> {
  /** Answers refused requests. The fields are set already. Default: sends the refusal. */
  readonly handler?: (request: FastifyRequest, reply: FastifyReply, refused: Refused) => unknown
  /** When requests are looked at. Default: `onRequest`, before anything else is done for them. */
  readonly hook?: RateLimitHook
}

/** The hook of Fastify in which requests are looked at. */
export type RateLimitHook = 'onRequest' | 'preParsing' | 'preValidation' | 'preHandler'
