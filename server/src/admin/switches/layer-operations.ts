import { LAYER_DOMAIN, LAYERS, type Layer, type RuleSwitch } from '../../quotas/model.ts'
import {
  list,
  named,
  needed,
  orNull as nullable,
  object,
  optional,
  REASON,
  UPDATED,
  VERSION,
} from '../../records/forms.ts'
import { type Change, operation } from '../api/operation.ts'
import { RECORDS } from '../api/parts.ts'
import type { RecordCall } from '../api/record-operations.ts'
import { orNull, timeOrNull } from '../api/values.ts'
import { SWITCHES } from './operations.ts'
import { switchId } from './table.ts'

const MODE = { kind: 'choice', of: ['on', 'shadow', 'off'] } as const
const LAYER = { kind: 'choice', of: LAYERS } as const

const LAYER_SWITCH = named(
  'Layer',
  object({
    layer: needed(LAYER),
    mode: nullable(MODE, 'null: what the settings and the rules say'),
    reason: nullable(REASON),
    version: nullable(VERSION.version.schema),
    updated_at: nullable(UPDATED.updated_at.schema),
  }),
)

const idOf = (layer: Layer): string => switchId({ domain: LAYER_DOMAIN, id: layer })

function layerJson(layer: Layer, record: RuleSwitch | undefined) {
  return {
    layer,
    mode: record === undefined ? null : record.mode === 'enforce' ? 'on' : record.mode,
    reason: orNull(record?.reason),
    version: orNull(record?.version),
    updated_at: timeOrNull(record?.updatedAtMs),
  }
}

export const LAYER_OPERATIONS = [
  operation({
    kind: 'look',
    id: 'listLayers',
    method: 'GET',
    path: '/layers',
    tag: 'rules',
    role: 'viewer',
    summary: 'what the layers were switched to: rate, concurrency, fleet, worker and upstream',
    answer: { status: 200, schema: object({ items: needed(list(LAYER_SWITCH)) }) },
    run: async (call) => {
      const quotas = call.parts.get(RECORDS)
      const items = LAYERS.map(async (layer) => layerJson(layer, await quotas.get('switches', idOf(layer))))
      return { body: { items: await Promise.all(items) } }
    },
  }),
  operation({
    kind: 'change',
    id: 'putLayer',
    method: 'PUT',
    path: '/layers',
    tag: 'rules',
    role: 'operator',
    summary: 'switch a whole layer, immediately and on every node: on, shadow (count, never refuse) or off',
    body: named('NewLayer', object({ layer: needed(LAYER), mode: needed(MODE), reason: optional(REASON) })),
    ifMatch: 'optional',
    answer: { status: 200, schema: LAYER_SWITCH, etag: true },
    errors: ['VERSION_STALE'],
    plan: async (call): Promise<Change> => {
      const { layer, mode, reason } = call.body
      const record: RuleSwitch = {
        rule: { domain: LAYER_DOMAIN, id: layer },
        mode: mode === 'on' ? 'enforce' : mode,
        reason: reason ?? undefined,
        version: 0,
        updatedAtMs: call.nowMs,
      }
      const change = await SWITCHES.upsert(call as unknown as RecordCall, record)
      return {
        ...change,
        commit: async () => {
          const { version = 1 } = await change.commit()
          return { body: layerJson(layer, { ...record, version }), version }
        },
      }
    },
  }),
  SWITCHES.remove({
    id: 'removeLayer',
    path: '/layers',
    summary: 'remove the switch of a layer: the settings and the rules say again what happens',
    query: { layer: { schema: LAYER, required: true, doc: 'the layer' } },
    ifMatch: 'optional',
    errors: ['VERSION_STALE'],
    idOf: ({ layer }) => idOf(layer as Layer),
  }),
]
