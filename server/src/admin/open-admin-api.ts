import type { SyncStore } from 'sluice/internal/engine/ports'
import { Bodies } from '../edge/http/body.ts'
import { DEFAULT_HTTP_BOUNDS } from '../edge/http/bounds.ts'
import type { IdempotencyStore } from '../quotas/ports.ts'
import { Access } from './access/access.ts'
import { AdminTokens, type SetToken } from './access/admin-tokens.ts'
import { Sessions } from './access/sessions.ts'
import { Throttle } from './access/throttle.ts'
import { AdminApi } from './api/admin-api.ts'
import { Cursors } from './api/cursors.ts'
import type { AdminDesk } from './api/desk.ts'
import { KeptAnswers } from './api/kept-answers.ts'
import { type LiveStreamBounds, LiveStreams } from './api/live-streams.ts'

/** AdminPorts are the parts of the service that the admin API works with. What is undefined is not there. */
export type AdminPorts = Omit<AdminDesk, 'access' | 'streams'>

/** NO_PORTS is a service without a database. */
export const NO_PORTS: Omit<AdminPorts, 'rules'> = Object.freeze({
  quotas: undefined,
  tokens: undefined,
  audit: undefined,
  usage: undefined,
  ruleTable: undefined,
  counters: undefined,
  preview: undefined,
  live: undefined,
  nodes: undefined,
  recent: undefined,
  apiKeys: undefined,
  webhooks: undefined,
  tierUsage: undefined,
  top: undefined,
  activity: undefined,
  changes: undefined,
  problems: undefined,
  fleet: undefined,
})

export interface AdminApiOptions {
  readonly ports: AdminPorts
  /** Tokens that the operator set, beside those of the store. */
  readonly setTokens: readonly SetToken[]
  /** Where the API counts its own requests: a store in memory. */
  readonly throttleStore: Pick<SyncStore, 'decideOne'>
  /** Signs sessions and cursors: the same on every node that a browser may be led to. Default: one of this process. */
  readonly secret: string | undefined
  /** Default: in memory. */
  readonly idempotency?: IdempotencyStore
  readonly streamBounds?: Partial<LiveStreamBounds>
  /** Of the program. */
  readonly version: string
  readonly nowMs?: () => number
  readonly failed?: (error: unknown) => void
}

/** openAdminApi joins the parts of the admin API. Its operations are read in when the first of them is asked for: most nodes start without. */
export function openAdminApi(options: AdminApiOptions): {
  readonly api: Pick<AdminApi, 'answer'>
  readonly access: Access
} {
  const { ports, setTokens, throttleStore, secret, nowMs = Date.now } = options
  const access = new Access(
    new AdminTokens(setTokens, ports.tokens, nowMs),
    new Sessions(secret, nowMs),
    new Throttle(throttleStore),
  )
  let loaded: Promise<AdminApi> | undefined
  return {
    api: {
      async answer(request, response) {
        loaded ??= loadApi(options, access)
        return (await loaded).answer(request, response)
      },
    },
    access,
  }
}

async function loadApi(options: AdminApiOptions, access: Access): Promise<AdminApi> {
  const { ports, secret, nowMs = Date.now, failed = () => {}, version } = options
  const { frameJson } = await import('./live/live.ts')
  const { operationsOf } = await import('./operations.ts')
  const { ruleNames } = await import('./rules/rule-names.ts')
  const desk: AdminDesk = {
    ...ports,
    access,
    streams: new LiveStreams((frame) => frameJson(frame, ruleNames(ports.rules())), nowMs, options.streamBounds),
  }
  return new AdminApi(operationsOf(version), {
    desk,
    cursors: new Cursors(secret),
    idempotency: options.idempotency ?? new KeptAnswers(nowMs),
    bodies: new Bodies(DEFAULT_HTTP_BOUNDS.maxBodyBytes),
    nowMs,
    failed,
  })
}
