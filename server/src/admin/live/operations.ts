import {
  list,
  NUMBER,
  named,
  needed,
  orNull as nullable,
  object,
  TIME,
  WHOLE,
  WORDS,
  YES_OR_NO,
} from '../../records/forms.ts'
import { HANDLED, operation } from '../api/operation.ts'
import { RULES } from '../api/parts.ts'
import { orNull, timeText } from '../api/values.ts'
import { NODES } from '../nodes/fleet-nodes.ts'
import type { NodeState } from '../nodes/node-note.ts'
import { ruleNames } from '../rules/rule-names.ts'
import type { LiveFrame } from './live-frames.ts'
import { LIVE } from './live-frames.ts'
import { STREAMS } from './live-streams.ts'

const STORE = { kind: 'choice', of: ['memory', 'up', 'away'] } as const

const FRAME = named(
  'LiveFrame',
  object({
    at: needed(TIME),
    at_ms: needed(WHOLE, 'the id of the event'),
    allowed: needed(WHOLE),
    refused: needed(WHOLE),
    shadow_refused: needed(WHOLE, 'what rules in shadow mode would have refused'),
    p50_ms: needed(NUMBER),
    p99_ms: needed(NUMBER),
    nodes: needed(WHOLE),
    nodes_away: needed(WHOLE),
    store: needed(STORE),
    database: needed({ kind: 'choice', of: ['none', 'up', 'away'] }),
    rule_version: needed(WORDS),
    rules: needed(
      list(
        object({
          domain: needed(WORDS),
          id: needed(WORDS),
          name: needed(WORDS, 'as in response headers and in explanations'),
          allowed: needed(WHOLE),
          refused: needed(WHOLE),
          shadow_refused: needed(WHOLE),
        }),
      ),
      'the busiest, at most 100',
    ),
  }),
)

/** frameJson formats a second. */
export function frameJson(frame: LiveFrame, nameOf: ReturnType<typeof ruleNames>) {
  const { atMs, allowed, refused, shadowRefused, p50Ms, p99Ms, nodes, nodesAway, store, database, ruleVersion } = frame
  return {
    at: timeText(atMs),
    at_ms: atMs,
    allowed,
    refused,
    shadow_refused: shadowRefused,
    p50_ms: p50Ms,
    p99_ms: p99Ms,
    nodes,
    nodes_away: nodesAway,
    store,
    database,
    rule_version: ruleVersion,
    rules: frame.rules.map(({ shadowRefused: ofRule, ...rule }) => ({
      ...rule,
      name: nameOf(rule.domain, rule.id),
      shadow_refused: ofRule,
    })),
  }
}

const NODE = named(
  'Node',
  object({
    id: needed(WORDS, 'of this run: a node that is started again has another'),
    name: needed(WORDS, 'what it is called: the same after a restart'),
    host: needed(WORDS),
    is_here: needed(YES_OR_NO, 'the node that answers'),
    is_away: needed(YES_OR_NO),
    started_at: needed(TIME),
    seen_at: needed(TIME),
    listed_until: nullable(TIME, 'of a silent node: until then, or until a node of its name is started'),
    version: needed(WORDS),
    rule_version: needed(WORDS),
    revision: needed(WHOLE, 'of the quotas that it decides by'),
    store: needed(STORE),
    circuit: nullable(
      { kind: 'choice', of: ['closed', 'half_open', 'open'] },
      'of calls to the store: the worst of its processes; null: counters are in memory, or nothing was reported yet',
    ),
    decisions_per_second: needed(WHOLE, 'of the last second'),
    memory_bytes: needed(WHOLE, 'resident, of all its processes'),
    event_loop_delay_ms: nullable(NUMBER, 'of its slowest process, at the 99th percentile of the last second'),
    admin_address: nullable(WORDS, 'where its admin port listens'),
    workers: needed(
      list(
        object({
          id: needed(WORDS),
          pid: nullable(WHOLE),
          state: needed(WORDS),
          started_at: needed(TIME),
          decisions_per_second: nullable(WHOLE, 'of the last second'),
        }),
      ),
    ),
  }),
)

function nodeJson(node: NodeState) {
  return {
    id: node.id,
    name: node.name,
    host: node.host,
    is_here: node.isHere,
    is_away: node.isAway,
    started_at: timeText(node.startedAtMs),
    seen_at: timeText(node.seenAtMs),
    listed_until: node.listedUntilMs === undefined ? null : timeText(node.listedUntilMs),
    version: node.version,
    rule_version: node.ruleVersion,
    revision: node.revision,
    store: node.store,
    circuit: orNull(node.circuit),
    decisions_per_second: node.decisionsPerSecond,
    memory_bytes: node.memoryBytes,
    event_loop_delay_ms: orNull(node.eventLoopDelayMs),
    admin_address: orNull(node.adminAddress),
    workers: node.workers.map(({ id, pid, state, startedAtMs, decisionsPerSecond }) => ({
      id,
      pid: orNull(pid),
      state,
      started_at: timeText(startedAtMs),
      decisions_per_second: orNull(decisionsPerSecond),
    })),
  }
}

const SINCE = { schema: { kind: 'integer', min: 0 }, doc: 'only frames after this at_ms' } as const

export const LIVE_OPERATIONS = [
  operation({
    kind: 'look',
    id: 'watchLive',
    method: 'GET',
    path: '/live',
    tag: 'live',
    role: 'viewer',
    summary:
      'figures of each second, as server-sent events; a stream ends after five minutes, and is to be opened again',
    query: { since: SINCE },
    answer: { status: 200, types: ['text/event-stream'] },
    errors: ['STREAMS_TOO_MANY'],
    run: async ({ parts, identity, query, request, response }) => {
      const live = parts.get(LIVE)
      if (request.method === 'HEAD') return { text: { type: 'text/event-stream', text: '' } }
      const lastId = Number(request.headers['last-event-id'])
      const since = query.since ?? (Number.isSafeInteger(lastId) && lastId > 0 ? lastId : undefined)
      parts.get(STREAMS).open(live, response, identity.id, since)
      return HANDLED
    },
  }),
  operation({
    kind: 'look',
    id: 'readLiveHistory',
    method: 'GET',
    path: '/live/history',
    tag: 'live',
    role: 'viewer',
    summary: 'the frames of the last hour',
    query: { since: SINCE },
    answer: { status: 200, schema: object({ frames: needed(list(FRAME)) }) },
    run: async ({ parts, query }) => {
      const nameOf = ruleNames(parts.get(RULES)())
      const frames = parts.get(LIVE).history(query.since ?? 0)
      return { body: { frames: frames.map((each) => frameJson(each, nameOf)) } }
    },
  }),
  operation({
    kind: 'look',
    id: 'listNodes',
    method: 'GET',
    path: '/nodes',
    tag: 'nodes',
    role: 'viewer',
    summary: 'every node and its workers, and how they are',
    answer: { status: 200, schema: object({ nodes: needed(list(NODE)) }) },
    run: async ({ parts }) => ({ body: { nodes: (await parts.get(NODES).list()).map(nodeJson) } }),
  }),
]
