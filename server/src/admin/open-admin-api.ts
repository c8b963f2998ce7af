import type { SyncStore } from 'sluice/internal/engine/ports'
import { Bodies } from '../edge/http/body.ts'
import { DEFAULT_HTTP_BOUNDS } from '../edge/http/bounds.ts'
import type { IdempotencyStore } from '../quotas/tables/idempotency-keys.ts'
import { Access } from './access/access.ts'
import { AdminTokens, type SetToken } from './access/admin-tokens.ts'
import { Sessions } from './access/sessions.ts'
import { Throttle } from './access/throttle.ts'
import { AdminApi } from './api/admin-api.ts'
import { Cursors } from './api/cursors.ts'
import { KeptAnswers } from './api/kept-answers.ts'
import { ACCESS, type AdminParts, RULES, TOKENS } from './api/parts.ts'
import type { LiveFrame } from './live/live-frames.ts'
import { type LiveStreamBounds, LiveStreams, STREAMS } from './live/live-streams.ts'

export interface AdminApiOptions {
  /** What the service has. Access and live streams are added here. */
  readonly parts: AdminParts
  /** Tokens that the operator set, in addition to those of the store. */
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
  const { parts, setTokens, throttleStore, secret, nowMs = Date.now } = options
  const access = new Access(
    new AdminTokens(setTokens, parts.find(TOKENS), nowMs),
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
  const { parts, secret, nowMs = Date.now, failed = () => {}, version } = options
  const { frameJson } = await import('./live/operations.ts')
  const { operationsOf } = await import('./operations.ts')
  const { ruleNames } = await import('./rules/rule-names.ts')
  const frame = (each: LiveFrame) => frameJson(each, ruleNames(parts.get(RULES)()))
  return new AdminApi(operationsOf(version), {
    parts: parts.with(ACCESS, access).with(STREAMS, new LiveStreams(frame, nowMs, options.streamBounds)),
    cursors: new Cursors(secret),
    idempotency: options.idempotency ?? new KeptAnswers(nowMs),
    bodies: new Bodies(DEFAULT_HTTP_BOUNDS.maxBodyBytes),
    nowMs,
    failed,
  })
}
