import type { Override, QuotaChange, QuotaRecords, QuotaSnapshot, QuotaTable, StoredTier } from './model.ts'

/** Sql is what a transaction offers. */
export type Sql = Pick<Database, 'query'>

/** A Database runs SQL, on PostgreSQL or PGlite alike. Values come back as JavaScript has them: 64-bit integers as numbers, jsonb parsed. */
export interface Database {
  query<Row>(sql: string, values?: readonly unknown[]): Promise<readonly Row[]>
  /** transaction runs `work`, and commits when it resolves. Within it only `tx` may be used. */
  transaction<T>(work: (tx: Sql) => Promise<T>, options?: TransactionOptions): Promise<T>
  /** listen hears NOTIFY on a channel. `missed` is called when some may have been lost: read everything again. */
  listen(channel: string, heard: (payload: string) => void, missed: () => void): () => void
  close(): Promise<void>
}

/** A WholeDatabase makes one transaction of several. */
export interface WholeDatabase extends Database {
  /**
   * Runs work of which all transactions and queries, however deep, are one transaction: all of it is committed, or none. A part
   * that fails is rolled back alone, if the work goes on without it.
   */
  atomically<T>(work: () => Promise<T>): Promise<T>
  /** Runs what has to wait for the commit of what surrounds it; immediately where nothing does. */
  afterCommit(run: () => void): void
}

export interface TransactionOptions {
  /** It only reads, and all of its queries see the same moment. */
  readonly snapshot?: boolean
  /** How long one statement may take, on PostgreSQL. */
  readonly statementTimeoutMs?: number
}

/** An Actor is who changes something, and from where. */
export interface Actor {
  /** The id of a token, or `cli`. */
  readonly id: string
  readonly name: string
  readonly address: string | undefined
  readonly reason: string | undefined
}

/** A Confirmation is which nodes decide by what is in the database, with all of their processes. */
export interface Confirmation {
  /** How many were heard lately, this one among them. */
  readonly nodes: number
  readonly confirmed: number
  /** The names of those that have not confirmed. */
  readonly waitingFor: readonly string[]
  /** The names of those that are silent and did not say that they end: they are not waited for. */
  readonly away: readonly string[]
}

/** FleetConfirmations says what all nodes on the database have done. */
export interface FleetConfirmations {
  /** Resolves when every node decides by what is in the database now, or when time is over. Undefined: the database is away. */
  wait(withinMs: number): Promise<Confirmation | undefined>
  /** Everything that was counted before, by nodes that were heard lately, is written. */
  completeUntilMs(): Promise<number>
}

/** A Page of a list, in a stable order. `next` is where the following page begins. */
export interface Page<T> {
  readonly items: readonly T[]
  readonly next: string | undefined
}

/**
 * A QuotaStore keeps records. Each change is made in one transaction with its audit entry and a rise of the revision, and is
 * told to every node. `version` is what the caller has seen: a change of another version throws VERSION_STALE; undefined takes any,
 * and 0 is a record that is not there yet. The store sets `version`, `createdAtMs` and `updatedAtMs` itself. A version is the revision
 * of the change, so that none comes twice for an id.
 */
export interface QuotaStore {
  snapshot(): Promise<QuotaSnapshot>
  /**
   * follow hears of changes, this node's own included, in the order of their revisions; `missed`: read a snapshot. It is called when
   * following begins, too: a snapshot read after that and the changes that come have no gap. `fault` hears why changes cannot be
   * read, and undefined when they can again.
   */
  follow(
    changed: (changes: readonly QuotaChange[]) => void,
    missed: () => void,
    fault?: (error: Error | undefined) => void,
  ): () => void
  get<T extends QuotaTable>(table: T, id: string): Promise<QuotaRecords[T] | undefined>
  put<T extends QuotaTable>(table: T, record: QuotaRecords[T], by: Actor, version?: number): Promise<QuotaRecords[T]>
  /** remove takes a record away; with a customer, all keys, overrides, grants and blocks of theirs. */
  remove<T extends QuotaTable>(table: T, id: string, by: Actor, version?: number): Promise<void>
  /** changeAll makes several changes, all or none. Each may name the version that the caller has seen. */
  changeAll(
    changes: readonly {
      readonly table: QuotaTable
      readonly id: string
      readonly record: unknown
      readonly version?: number | undefined
    }[],
    by: Actor,
  ): Promise<void>
  list<T extends QuotaTable>(table: T, query: ListQuery): Promise<Page<QuotaRecords[T]>>
}

/** A ListQuery narrows a list. */
export interface ListQuery {
  /**
   * Exact values of fields, such as `{ tier: 'pro' }`, `{ hash: '…' }`, or, of a subject, `{ customerId: 'acme' }`, `{ keyId: '…' }`;
   * `{ ownerId: 'acme' }` is that customer and its keys.
   */
  readonly where?: Readonly<Record<string, string>>
  /** The beginning of an id, a name or a key's prefix; customers are found by the prefixes of their keys, too. */
  readonly search?: string | undefined
  readonly after?: string | undefined
  readonly limit: number
}

/** What tokens of the admin API may do: viewers look, operators help customers, admins change rules, tiers and tokens. */
export type Role = 'viewer' | 'operator' | 'admin'

/** An AdminToken is a token of the admin API as it is kept: never the token itself. */
export interface AdminToken {
  readonly id: string
  readonly name: string
  readonly role: Role
  /** SHA-256 of the token, in hex. */
  readonly hash: string
  /** The first characters of the token, for people. */
  readonly prefix: string
  readonly createdAtMs: number
  readonly expiresAtMs: number | undefined
  readonly revokedAtMs: number | undefined
  readonly lastUsedAtMs: number | undefined
}

/** A TokenStore keeps tokens of the admin API. Each change is audited. */
export interface TokenStore {
  create(token: AdminToken, by: Actor): Promise<AdminToken>
  /** createFirst keeps a token only if there is none that is good, even if others try at the same time. It returns whether it did. */
  createFirst(token: AdminToken, by: Actor): Promise<boolean>
  list(): Promise<readonly AdminToken[]>
  get(id: string): Promise<AdminToken | undefined>
  /** find looks a token up by its hash. Those that were revoked or have expired are found, too. */
  find(hash: string): Promise<AdminToken | undefined>
  /** revoke ends a token at once. To revoke one that was revoked is no error; undefined: there is none of that id. */
  revoke(id: string, by: Actor): Promise<AdminToken | undefined>
  /** used notes when a token was used last. It may be late, and never fails. */
  used(id: string, atMs: number): void
  /** hasAny says whether there is a token that is good. */
  hasAny(): Promise<boolean>
}

/** An AuditEntry is one change that was made. */
export interface AuditEntry {
  readonly sequence: number
  readonly atMs: number
  readonly actor: Actor
  /** Such as `customers.put`, `tokens.revoke`, `counters.reset`. */
  readonly action: string
  /** What was changed: the kind of record and its id. */
  readonly target: { readonly kind: string; readonly id: string }
  readonly customerId: string | undefined
  readonly before: unknown
  readonly after: unknown
  /** In hex; chained to that of the entry before. */
  readonly hash: string
}

export interface AuditQuery {
  /** The id or the name of an actor. */
  readonly actor?: string | undefined
  readonly action?: string | undefined
  /** What was changed is of one of these kinds, such as `tiers`. */
  readonly kinds?: readonly string[] | undefined
  readonly target?: string | undefined
  /** The sequence of the newest entry that is wanted. */
  readonly upTo?: number | undefined
  readonly customerId?: string | undefined
  readonly fromMs?: number | undefined
  readonly toMs?: number | undefined
  readonly after?: string | undefined
  readonly limit: number
}

/** An AuditVerification says whether the chain of entries is whole. */
export interface AuditVerification {
  readonly ok: boolean
  readonly entries: number
  readonly head: string | undefined
  /** The first entry that is wrong, and why. */
  readonly broken: { readonly sequence: number; readonly reason: string } | undefined
  /** What outside of the database the end was compared with. */
  readonly anchors: readonly string[]
  /** Anchors with which it was not compared, and why. */
  readonly unread: readonly { readonly anchor: string; readonly reason: string }[]
}

/** An AuditLog is read newest first. */
export interface AuditLog {
  list(query: AuditQuery): Promise<Page<AuditEntry>>
  verify(): Promise<AuditVerification>
}

export interface UsageQuery {
  readonly customerId?: string | undefined
  readonly fromMs: number
  readonly toMs: number
  readonly granularity: 'hour' | 'day'
  readonly after?: string | undefined
  readonly limit: number
}

/** A UsageRow is what one customer did under one limit in one hour or day. */
export interface UsageRow {
  readonly customerId: string
  readonly limit: string
  readonly atMs: number
  readonly allowed: number
  readonly refused: number
  readonly cost: number
}

export interface UsageStore {
  read(query: UsageQuery): Promise<Page<UsageRow>>
}

/** Callers are customers, and API keys without a customer, by the ids of their records. */
export interface Callers {
  readonly customers: ReadonlySet<string>
  readonly keys: ReadonlySet<string>
}

/** A CallerHour is what one caller did under one limit in an hour. */
export interface CallerHour extends Pick<UsageRow, 'customerId' | 'allowed' | 'refused' | 'cost'> {
  /** '': the caller had no key. */
  readonly keyId: string
  /** The domain and the id of the rule, with a slash between. */
  readonly limit: string
}

/** CallerHours knows what callers did in single hours. */
export interface CallerHours {
  /** busiest finds the hour with the most requests; undefined where there were none. */
  busiest(callers: Callers, fromMs: number, toMs: number): Promise<number | undefined>
  /** inHour lists what they did in one hour, the most requests first, up to a number of rows. */
  inHour(callers: Callers, hourMs: number, most: number): Promise<readonly CallerHour[]>
}

export type TierPeriod = '1h' | '24h' | '30d'

/** A TierUse is what the customers of one tier used. */
export interface TierUse {
  /** Undefined: customers without a tier. */
  readonly tier: string | undefined
  /** How many customers have the tier now. */
  readonly customers: number
  readonly allowed: number
  readonly refused: number
  readonly cost: number
}

/** TierUsage adds up what was used by tier. Use counts for the tier that the caller had when it was written. */
export interface TierUsage {
  /** byTier begins with a whole hour: up to an hour before the period does. */
  byTier(period: TierPeriod): Promise<{ readonly sinceMs: number; readonly tiers: readonly TierUse[] }>
}

/** A WebhookEndpoint is where events are sent. Its secrets are never read again. */
export interface WebhookEndpoint {
  readonly id: string
  readonly url: string
  readonly description: string
  /** Undefined: it hears of every customer. */
  readonly customerId: string | undefined
  readonly events: readonly string[]
  /** In percent. */
  readonly thresholds: readonly number[]
  readonly isEnabled: boolean
  /** Why it was switched off, where the service did that. */
  readonly disabledReason: string | undefined
  readonly version: number
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

export type WebhookFields = Pick<
  WebhookEndpoint,
  'url' | 'description' | 'customerId' | 'events' | 'thresholds' | 'isEnabled'
>

/** A WebhookDelivery is one event on its way to one endpoint. Its id is the `webhook-id` of every attempt. */
export interface WebhookDelivery {
  readonly id: string
  readonly endpointId: string
  readonly event: string
  readonly state: 'waiting' | 'delivered' | 'failed'
  readonly attempts: number
  readonly nextAtMs: number | undefined
  readonly lastStatus: number | undefined
  readonly lastError: string | undefined
  readonly body: string
  readonly createdAtMs: number
  readonly finishedAtMs: number | undefined
}

/** A WebhookStore keeps endpoints and deliveries. Each change is audited, without secrets. */
export interface WebhookStore {
  list(query: Pick<ListQuery, 'after' | 'limit'>): Promise<Page<WebhookEndpoint>>
  get(id: string): Promise<WebhookEndpoint | undefined>
  /** check throws WEBHOOK_URL_INVALID or WEBHOOK_SECRET_INVALID. */
  check(url: string, secret: string | undefined): void
  /** create throws WEBHOOKS_TOO_MANY. */
  create(fields: WebhookFields, secret: string, by: Actor): Promise<WebhookEndpoint>
  update(id: string, fields: WebhookFields, by: Actor, version?: number): Promise<WebhookEndpoint>
  remove(id: string, by: Actor, version?: number): Promise<void>
  /** rotate signs with another secret, and for a day with the former one, too. */
  rotate(id: string, secret: string, by: Actor, version?: number): Promise<WebhookEndpoint>
  /** deliveries are read newest first. */
  deliveries(id: string, query: Pick<ListQuery, 'after' | 'limit'>): Promise<Page<WebhookDelivery>>
  /** redeliver sends an event again, whatever became of it; undefined: there is none of that id. */
  redeliver(id: string, deliveryId: string, by: Actor): Promise<WebhookDelivery | undefined>
  /** test sends an event that means nothing. */
  test(id: string, by: Actor): Promise<WebhookDelivery>
}

/** A RuleVersion is one text of rules that the table has had. */
export interface RuleVersion {
  readonly version: number
  readonly isActive: boolean
  readonly createdAtMs: number
  readonly by: string
  readonly comment: string | undefined
  readonly limits: number
  readonly domains: readonly string[]
}

/** A RuleTable holds rules in YAML, beside those of files. */
export interface RuleTable {
  versions(query: Pick<ListQuery, 'after' | 'limit'>): Promise<Page<RuleVersion>>
  /** read returns one version with its text; undefined asks for the active one. */
  read(version?: number): Promise<(RuleVersion & { readonly text: string }) | undefined>
  /** check compiles a text together with the other sources, as put would. It throws a RulesError. */
  check(text: string): Promise<{ readonly limits: number; readonly domains: readonly string[] }>
  /** put checks a text, keeps it as a new version and activates it. `version` is the active one that the caller has seen, 0 for none. */
  put(text: string, comment: string | undefined, by: Actor, version?: number): Promise<RuleVersion>
  /** activate makes a former version the active one again: a new version with its text. */
  activate(version: number, by: Actor, seen?: number): Promise<RuleVersion>
}

/** KeptAnswer is what is kept under an idempotency key. `sealed` can be read only by who knows the key. */
export interface KeptAnswer {
  readonly fingerprint: string
  /** Undefined: the first request is under way. */
  readonly sealed: string | undefined
}

/** An IdempotencyStore remembers the answers to creations for 24 hours, under a hash of who asked and the key. */
export interface IdempotencyStore {
  /** claim returns what is kept under an id; undefined: it was free, and is the caller's now. It throws IDEMPOTENCY_KEYS_TOO_MANY. */
  claim(id: string, owner: string, fingerprint: string): Promise<KeptAnswer | undefined>
  /** Does what a claim is for, and fills it with what `seal` makes of the result: both, or neither. */
  fill<T>(id: string, work: () => Promise<T>, seal: (result: T) => string): Promise<T>
  /** Frees a claim for which nothing was done. */
  free(id: string): Promise<void>
}

/** A ProposedChange is a change before it is made. */
export type ProposedChange =
  | {
      readonly kind: 'record'
      readonly table: QuotaTable
      readonly id: string
      readonly before: unknown
      readonly after: unknown
    }
  | { readonly kind: 'rules'; readonly text: string }
  | { readonly kind: 'counters'; readonly target: CounterTarget }
  | { readonly kind: 'token'; readonly before: unknown; readonly after: unknown }
  | { readonly kind: 'webhook'; readonly id: string; readonly before: unknown; readonly after: unknown }

/** A CountRange is what is known of a number. Both are the same where it is known. */
export interface CountRange {
  readonly atLeast: number
  readonly atMost: number
}

/** A LimitTraffic is what one limit did in a period, and what it would have done under a change. */
export interface LimitTraffic {
  readonly domain: string
  readonly ruleId: string
  /** Requests that the limit decided about, and those that it refused. Undefined: they were not counted. */
  readonly requests: number | undefined
  readonly refused: number | undefined
  /** How many of the requests would not have been admitted. Undefined: nothing is known of it. */
  readonly refusedAfter: CountRange | undefined
  /** Why it is not one number, as a sentence. */
  readonly why: string | undefined
}

/** A TrafficPeriod is requests that were made, had a change been in force from its beginning on. */
export interface TrafficPeriod {
  /** The hour that runs, by the use of customers; the busiest of the week before; or the last hour of rules, whoever called. */
  readonly kind: 'this_hour' | 'busiest_hour' | 'last_hour'
  readonly fromMs: number
  readonly toMs: number
  /** Limits that would have done something else, those with the most requests first. */
  readonly limits: readonly LimitTraffic[]
  readonly limitsLeftOut: number
}

/** A PreviewOutcome is what changes would do, as far as it is known. */
export interface PreviewOutcome {
  /** Undefined: nobody knows how many. */
  readonly affectedCustomers: number | undefined
  readonly traffic: readonly TrafficPeriod[]
  /** Why there is no traffic to compare with, or none that says what would come of the change; a sentence. */
  readonly trafficUnknown: string | undefined
  /** For people, a sentence each. */
  readonly notes: readonly string[]
}

export interface Preview {
  preview(changes: readonly ProposedChange[]): Promise<PreviewOutcome>
}

/** A LimitSource is where a number comes from. `id` is that of the override or grant, or the tier's name. */
export interface LimitSource {
  readonly kind: 'key_override' | 'customer_override' | 'tier' | 'rule' | 'grant'
  readonly id: string | undefined
}

/** A LimitState is one limit of a caller, and its counter now. */
export interface LimitState {
  /** `default`, or what stands below the caller's entry. */
  readonly descriptor: string
  /** What stands before the caller's entry; '' is nothing. */
  readonly above: string
  readonly domain: string
  readonly ruleId: string
  readonly ruleName: string
  /** It stands for values that are not known, each of which has a counter: nothing is known of their use. */
  readonly isPattern: boolean
  readonly source: LimitSource
  readonly limit: number
  readonly used: number
  readonly remaining: number
  readonly windowMs: number
  readonly unit: string | undefined
  /** Of a window that follows the calendar: whose. */
  readonly timeZone: string | undefined
  readonly windowStartMs: number
  readonly resetAtMs: number
  /** Of which API key it is; undefined: of the customer. */
  readonly keyId?: string
  readonly keyPrefix?: string
  /**
   * False: no request has carried this API key since the node began, so that its counter cannot be named; or the store is away.
   * Default: true.
   */
  readonly isUseKnown?: boolean
}

/** LimitStates are limits of callers, and how many descriptors more may have some: there are too many to look at. */
export interface LimitStates {
  readonly limits: readonly LimitState[]
  readonly omitted: number
}

/** A CounterTarget is whose counters are meant: all of a customer, all of a key, or those that descriptors lead to. */
export type CounterTarget =
  | { readonly kind: 'customer'; readonly customerId: string }
  /** `apiKey` is the key itself, where somebody has given it: counters are named by it. */
  | { readonly kind: 'key'; readonly keyId: string; readonly apiKey?: string }
  | {
      readonly kind: 'descriptors'
      readonly domain: string
      readonly descriptors: readonly (readonly { readonly key: string; readonly value: string }[])[]
    }

/** A LookedCounter is one rule that applies to a descriptor, and its counter as it is. Nothing was charged. */
export interface LookedCounter {
  /** The position of the descriptor. */
  readonly descriptor: number
  readonly ruleId: string
  readonly ruleName: string
  /** The limit in words, as `sluice check` has it. */
  readonly described: string
  readonly isUnlimited: boolean
  readonly isShadow: boolean
  readonly switchedTo: 'off' | 'shadow' | 'enforce' | undefined
  readonly source: LimitSource
  /** As it may be shown: secrets are hashed. */
  readonly key: string
  readonly limit: number
  readonly used: number
  readonly remaining: number
  readonly resetAfterMs: number
  /** 0: a request of cost 1 would be admitted now. */
  readonly retryAfterMs: number
  /** No wait would help: the limit is smaller than the cost. */
  readonly isImpossible: boolean
  /** Of a counter that refuses: extra budget of the caller, in the order of its use. */
  readonly grants?: readonly LookedGrant[]
}

export interface LookedGrant {
  readonly id: string
  readonly remaining: number
}

/** A LookedBlock is why a request is refused before any rule is asked. */
export interface LookedBlock {
  readonly id: string
  readonly reason: string | undefined
  readonly status: number
  /** Undefined: without end. */
  readonly endsInMs: number | undefined
}

/** A CounterDesk looks at counters, and forgets them on every node. */
export interface CounterDesk {
  look(target: CounterTarget & { readonly kind: 'descriptors' }): Promise<readonly LookedCounter[]>
  /** blockOf is what blocks the callers that descriptors name. */
  blockOf(target: CounterTarget & { readonly kind: 'descriptors' }): LookedBlock | undefined
  /** limitsOf is every limit of a customer or a key. */
  limitsOf(target: CounterTarget & { readonly kind: 'customer' | 'key' }): Promise<LimitStates>
  /** reset forgets counters and what nodes remember of them, and says how many. It is audited. */
  reset(target: CounterTarget, by: Actor): Promise<number>
  /** defaultOf is the plain limit of a tier, as its rules or its record say. */
  defaultOf(tier: string | undefined): { readonly requestsPerUnit: number; readonly unit: string } | undefined
  /** Returns whether the values of entries with this key are API keys, which are not shown, whatever rules say of them. */
  isApiKey(key: string): boolean
}

/** OwnUsage finds what the owner of an API key has used. */
export interface OwnUsage {
  /** usageOf returns every limit of a key; undefined for one that nobody has, after as much work as for any other. */
  usageOf(apiKey: string): Promise<readonly LimitState[] | undefined>
}

/** LiveRule is what one rule did in one second. */
export interface LiveRule {
  readonly domain: string
  readonly id: string
  readonly allowed: number
  readonly refused: number
  readonly shadowRefused: number
}

/** A LiveFrame is one second of the whole service. */
export interface LiveFrame {
  readonly atMs: number
  readonly allowed: number
  readonly refused: number
  readonly shadowRefused: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly nodes: number
  readonly nodesAway: number
  readonly store: 'memory' | 'up' | 'away'
  readonly database: 'none' | 'up' | 'away'
  readonly ruleVersion: string
  /** The busiest, at most 100. */
  readonly rules: readonly LiveRule[]
}

/** LiveFigures makes a frame each second, and keeps the last hour. */
export interface LiveFigures {
  history(sinceMs: number): readonly LiveFrame[]
  follow(heard: (frame: LiveFrame) => void): () => void
}

/** How calls to a shared store fare: `open`, none is made; `half_open`, one is tried. */
export type CircuitState = 'closed' | 'half_open' | 'open'

/** A WorkerState is one process of a node that answers requests. */
export interface WorkerState {
  readonly id: string
  readonly state: string
  readonly startedAtMs: number
  readonly pid: number | undefined
  /** Of the last second. Undefined: it has told nothing yet. */
  readonly decisionsPerSecond: number | undefined
}

/** A NodeState is one node of the fleet. */
export interface NodeState {
  /** Of this run: a node that is started again has another. */
  readonly id: string
  /** What people call it: the same after a restart. */
  readonly name: string
  readonly host: string
  readonly isHere: boolean
  readonly isAway: boolean
  readonly startedAtMs: number
  readonly seenAtMs: number
  /** Of a node that is away: until when it is listed, unless one of its name is started. */
  readonly listedUntilMs: number | undefined
  readonly version: string
  readonly ruleVersion: string
  /** Of the quotas that it decides by. */
  readonly revision: number
  readonly store: 'memory' | 'up' | 'away'
  /** The worst of its processes and of the store's servers. Undefined: counters are in memory, or nothing was told yet. */
  readonly circuit: CircuitState | undefined
  /** Of the last second. */
  readonly decisionsPerSecond: number
  /** Resident memory of all its processes. */
  readonly memoryBytes: number
  /** How late the event loop of its slowest process was, at the 99th percentile of the last second. */
  readonly eventLoopDelayMs: number | undefined
  /** Where its admin port listens, as it knows it. */
  readonly adminAddress: string | undefined
  readonly workers: readonly WorkerState[]
}

export interface NodeList {
  list(): Promise<readonly NodeState[]>
}

/** Whose a list is: that of this node, or of all nodes on the same Redis. */
export type FleetScope = 'fleet' | 'node'

/** A FleetList is what several nodes told. */
export interface FleetList<T> {
  readonly items: readonly T[]
  /** How many nodes it is made of. */
  readonly nodes: number
  /** How many more there are that did not answer in time, or were too many to ask. */
  readonly nodesLeftOut: number
}

/** A RecentRefusal is one request that was refused lately. */
export interface RecentRefusal {
  /** The id of the node that refused it. */
  readonly node: string
  readonly atMs: number
  readonly customerId: string | undefined
  readonly keyId: string | undefined
  readonly domain: string
  readonly rule: string
  /** Whom it was about, as it may be shown. */
  readonly key: string
  readonly reason: string
  /** Of a block: why, or its id. */
  readonly detail: string | undefined
  readonly retryAfterMs: number | undefined
}

/** A NearLimit is a caller that has used 80 % of a limit or more. */
export interface NearLimit
  extends Pick<RecentRefusal, 'node' | 'atMs' | 'customerId' | 'keyId' | 'domain' | 'rule' | 'key'> {
  readonly limit: number
  readonly remaining: number
  readonly windowMs: number
  readonly resetAtMs: number
}

/** RecentCallers is what nodes remember of callers: a bounded number, and only since they began. */
export interface RecentCallers {
  /** refusals are those of a customer or a key, or all, the newest first. */
  refusals(
    scope: FleetScope,
    of?: CounterTarget & { readonly kind: 'customer' | 'key' },
  ): Promise<FleetList<RecentRefusal>>
  /** nearLimits is who has little left, the nearest first. */
  nearLimits(scope: FleetScope): Promise<FleetList<NearLimit>>
}

export type TopRanking = 'refused' | 'used'
export type TopPeriod = '5m' | '1h' | '24h'

/** A TopKey is a caller that a rule refused, or was asked about, most. */
export interface TopKey {
  readonly domain: string
  readonly rule: string
  /** Whom it is about, as it may be shown. */
  readonly key: string
  readonly customerId: string | undefined
  readonly keyId: string | undefined
  /** At the least; up to `missed` more. */
  readonly count: number
  readonly missed: number
  /** Of all that the rule refused, or was asked about. */
  readonly share: number
  readonly isShadow: boolean
}

/** TopKeys knows the busiest callers of all rules. */
export interface TopKeys {
  top(by: TopRanking, period: TopPeriod, limit: number): Promise<FleetList<TopKey> & { readonly sinceMs: number }>
}

export type ActivityCounts = Pick<LiveRule, 'allowed' | 'refused' | 'shadowRefused'>

/** A RuleActivity is what one rule did lately. */
export interface RuleActivity {
  readonly domain: string
  readonly id: string
  /** It only reports now, by itself or by a switch. */
  readonly isShadow: boolean
  readonly lastMinute: ActivityCounts
  readonly lastHour: ActivityCounts
}

export interface RuleActivities {
  /** list is every rule that was asked about in the last hour, the busiest first. */
  list(scope: FleetScope): Promise<FleetList<RuleActivity> & { readonly rulesLeftOut: number }>
}

/** A MadeChange is a change of what is decided, for people. */
export interface MadeChange {
  readonly atMs: number
  /** The kind of what was changed, as the audit log has it, or `rule_files`. */
  readonly kind: string
  readonly text: string
  /** The name of who made it. */
  readonly actor: string
}

export interface ChangeList {
  /** since lists changes from a time on, the newest first. */
  since(sinceMs: number, limit: number): Promise<readonly MadeChange[]>
}

/** RecordProblems says why records have no effect that were put in another way, or under other rules. Undefined: nothing is wrong. */
export interface RecordProblems {
  ofTier(tier: StoredTier): string | undefined
  ofOverride(override: Override): string | undefined
}

/** ApiKeyHash spells API keys as they are kept: HMAC-SHA256 under the key of the installation, in hex. */
export interface ApiKeyHash {
  hash(apiKey: string): string
}
