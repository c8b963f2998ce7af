import type { IncomingMessage } from 'node:http'
import { SluiceError } from 'sluice/internal/core/errors'
import { readApiKeys } from 'sluice/internal/core/identity/api-key'
import type { Route } from '../../edge/http/routes.ts'
import { writeJson } from '../../edge/http/write.ts'
import { type Throttle, Throttled } from '../access/throttle.ts'
import type { LimitState } from './limit-states.ts'
import { usageJson } from './limit-states.ts'

/** OwnUsage finds what the owner of an API key has used. */
export interface OwnUsage {
  /** Returns every limit of a key; undefined for one that no one has, after as much work as for any other. */
  usageOf(apiKey: string): Promise<readonly LimitState[] | undefined>
}

/** What customers see their usage by. */
export interface OwnUsageParts {
  /** Undefined: there is no database. */
  readonly usage: OwnUsage | undefined
  readonly throttle: Throttle
}

// Made once: strangers may ask as often as they are let.
const KEY_REQUIRED = new SluiceError(
  'API_KEY_REQUIRED',
  'authorization',
  'the key is missing, unknown or given more than once',
)

/** Answers GET /v1/usage: what the owner of an API key has used of each limit. To ask costs nothing. */
export function ownUsageRoute({ usage, throttle }: OwnUsageParts): Route {
  return {
    methods: ['GET', 'HEAD'],
    answer: async (request, response) => {
      response.setHeader('Cache-Control', 'no-store')
      try {
        const limits = await limitsOf(request)
        writeJson(response, 200, 'application/json', usageJson(limits))
      } catch (error) {
        if (error instanceof Throttled) response.setHeader('Retry-After', error.retryAfterSeconds)
        throw error
      }
    },
  }

  async function limitsOf({ headers, socket }: IncomingMessage) {
    const header = (name: string): string | undefined => headers[name]?.toString()
    const [apiKey, ...others] = readApiKeys({}, header, '')
    if (apiKey === undefined || others.length > 0) throw KEY_REQUIRED
    throttle.ownUsage(socket.remoteAddress, apiKey)
    if (usage === undefined)
      throw new SluiceError('QUOTAS_UNAVAILABLE', 'usage', 'the database is not set or not available')
    const limits = await usage.usageOf(apiKey)
    if (limits === undefined) throw KEY_REQUIRED
    return limits
  }
}
