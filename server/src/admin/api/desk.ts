import { SluiceError } from 'sluice/internal/core/errors'
import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import type {
  ApiKeyHash,
  AuditLog,
  ChangeList,
  CounterDesk,
  FleetConfirmations,
  LiveFigures,
  NodeList,
  Preview,
  QuotaStore,
  RecentCallers,
  RecordProblems,
  RuleActivities,
  RuleTable,
  TierUsage,
  TokenStore,
  TopKeys,
  UsageStore,
  WebhookStore,
} from '../../quotas/ports.ts'
import type { Access } from '../access/access.ts'
import type { LiveStreams } from './live-streams.ts'

/** An AdminDesk is what the admin API works with. What is undefined is answered QUOTAS_UNAVAILABLE. */
export interface AdminDesk {
  readonly quotas: QuotaStore | undefined
  readonly tokens: TokenStore | undefined
  readonly audit: AuditLog | undefined
  readonly usage: UsageStore | undefined
  readonly ruleTable: RuleTable | undefined
  readonly counters: CounterDesk | undefined
  readonly preview: Preview | undefined
  readonly live: LiveFigures | undefined
  readonly nodes: NodeList | undefined
  readonly recent: RecentCallers | undefined
  readonly apiKeys: ApiKeyHash | undefined
  readonly webhooks: WebhookStore | undefined
  readonly tierUsage: TierUsage | undefined
  readonly top: TopKeys | undefined
  readonly activity: RuleActivities | undefined
  readonly changes: ChangeList | undefined
  readonly problems: RecordProblems | undefined
  readonly fleet: FleetConfirmations | undefined
  rules(): RuleSet
  readonly access: Access
  readonly streams: LiveStreams
}

type Missing = { [K in keyof AdminDesk]: undefined extends AdminDesk[K] ? K : never }[keyof AdminDesk]

/** part returns a part of the desk, or throws that it is not there. */
export function part<K extends Missing>(desk: AdminDesk, name: K): NonNullable<AdminDesk[K]> {
  const found = desk[name]
  if (found === undefined) throw new SluiceError('QUOTAS_UNAVAILABLE', name, 'not there')
  return found
}
