import { GATEWAY_SETTINGS } from '../app/settings/gateway-settings.ts'
import { SETTING_GROUPS, SETTINGS, type SettingSpec } from '../app/settings/settings.ts'

const WIDTH = 80
const LEFT = 26

/** Breaks a text into lines that fit. */
function wrapped(text: string, width: number): string[] {
  const lines: string[] = ['']
  for (const word of text.split(' ')) {
    const line = lines[lines.length - 1]
    if (line !== '' && line.length + 1 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`
  }
  return lines
}

/** Formats a setting: the flag, what it is for, its variable and its default. */
function entry(spec: Omit<SettingSpec, 'group'>): string {
  const { flag, value, env, text } = spec
  const left = value === undefined ? `  --${flag}` : `  --${flag} ${value}`
  const right = [
    ...wrapped(text, WIDTH - LEFT),
    ...wrapped(`[${env}; default: ${spec.default ?? spec.unset}]`, WIDTH - LEFT),
  ]
  const [first, ...rest] = left.length < LEFT ? [left.padEnd(LEFT) + right[0], ...right.slice(1)] : [left, ...right]
  return [first, ...rest.map((line) => ' '.repeat(LEFT) + line)].join('\n')
}

function group(name: string): string {
  return `${name}:\n${SETTINGS.filter((setting) => setting.group === name)
    .map(entry)
    .join('\n')}`
}

/** What `sluice --help` prints. */
export const HELP = `sluice: a distributed API rate limiter

Usage:
  sluice serve [FLAGS]             run the service: gRPC for Envoy, HTTP, admin
  sluice gateway --to URL --limit N/TIME | --routes FILE
                                   run a reverse proxy with the limiter in it
  sluice check RULES…              validate rule files, rules at addresses or
                                   a routes file, and show what they mean
  sluice explain RULES [--domain NAME] KEY=VALUE…
                                   show which rules apply to a descriptor, why,
                                   and their keys in Redis
  sluice reset --redis URL --rules RULES [--domain NAME] KEY=VALUE…
                                   reset what a caller has used, on all nodes
  sluice simulate RULES --traffic LOG [--against OLD_RULES]
                                   replay access logs through rules: who would
                                   have been refused, when, by which rule
  sluice suggest --traffic LOG     propose limits for the traffic of access logs
  sluice top [--admin URL]         watch a running service: decisions, refusals,
                                   latency, its store, its busiest keys
  sluice health [--admin URL]      succeed if a service accepts requests; with
                                   --live, if it runs; for health checks
  sluice size --rate N --keys N    how many nodes and Redis shards are needed
                                   for these decisions per second and callers
  sluice token create [--name TEXT] [--role ROLE] [--expires-in DURATION]
  sluice token list|revoke ID      tokens of the admin API: viewer, operator,
                                   admin or ledger; a new one is printed once
  sluice token first [--data DIR]  print the token of the first start
  sluice audit verify|list|export [--customer ID] [--limit N]
                                   verify the log of all changes; print its
                                   last entries; export all as JSON lines
  sluice ledger export --meter METER=EVENT
                                   send what was used to Stripe, once
  sluice ledger verify|reconcile   recompute every balance of the ledger from
                                   its entries; compare it with usage
  sluice serve --help              the flags of serve
  sluice gateway --help            the flags of gateway
  sluice simulate --help           the flags of simulate; suggest has its own
  sluice --help                    this page
  sluice --version

check and explain accept --merge-domains: merge files of the same domain into
one set of rules; and --compatibility SERVICE: read rules as serve does with it
(serve --help). check accepts --json: print the result as one line of JSON.
explain accepts --nodes N and --rate HITS (per node and second): how far above
its limit an eventual rule may then admit; with --redis URL it shows the current
counters. reset accepts --key REDISKEY instead of a descriptor, or --all
--domain NAME for a whole domain. Both accept the flags and variables of serve
for Redis: SLUICE_SECRET, --key-prefix and --keys determine the keys.
top accepts --admin URL (default: http://localhost:8082), --token or
SLUICE_ADMIN_TOKEN, --by refused|active, --minutes 1|5|60|1440, --scope
node|fleet, --interval TIME, --json (one line of JSON per refresh) and --once.
health checks the service that its variables and config file describe.
token, audit and ledger work on a database (--database URL, --data DIR, and
SLUICE_SECRET if the service has it) or through a running service (--admin URL,
--token). size accepts --limits N (per decision), --leased SHARE (of decisions
that leases answer), --compact-keys and --json; docs/sizing.md describes what it
computes. Rules are described in docs/rules.md, errors in docs/errors.md,
operation in docs/operate.md.

Try it:  sluice serve --examples   with the example rules; it prints what to try
`

/** What `sluice serve --help` prints. */
export const SERVE_HELP = `sluice serve: run the service

Usage:
  sluice serve [FLAGS]

  sluice serve --examples                    the example rules, in memory
  sluice serve --rules rules/                your rules, reloaded on change
  sluice serve --rules rules/ --redis redis://localhost:6379 --workers auto

Each flag is also an environment variable and a line of the config file (with _
for -). Flags take precedence over variables, variables over the file.

${SETTING_GROUPS.map(group).join('\n\n')}

Durations are written 500ms, 10s, 1h30m. Variables of envoyproxy/ratelimit keep
their meaning, see docs/migrate-from-envoy-ratelimit.md.

Signals: SIGTERM and SIGINT drain and stop it, a second one stops it
immediately; SIGHUP reloads the rules.
`

/** What `sluice gateway --help` prints. */
export const GATEWAY_HELP = `sluice gateway: run a reverse proxy with the limiter in it

Usage:
  sluice gateway [FLAGS]

  sluice gateway --to http://localhost:3000 --limit 100/1m
                                             100 per minute and address
  sluice gateway --routes gateway.yaml       routes with their limits
  sluice gateway --routes gateway.yaml --redis redis://localhost --workers auto

Each flag is also an environment variable.

Gateway:
${GATEWAY_SETTINGS.map((spec) => entry(spec)).join('\n')}

The flags of serve for rules, counters, the admin port, metrics, logs, quotas
and the process apply here too; those for gRPC and the HTTP port have no effect.
Routes files are described in docs/gateway.md; sluice check validates them.

Signals: SIGTERM and SIGINT drain and stop it, a second one stops it
immediately; SIGHUP reloads routes and rules.
`

/** What `sluice simulate --help` prints. */
export const SIMULATE_HELP = `sluice simulate: replay access logs through rules

Usage:
  sluice simulate RULES… --traffic LOG… [FLAGS]

  sluice simulate rules.yaml --traffic access.log
                                   who would have been refused
  sluice simulate new.yaml --against old.yaml --traffic access.log.gz
                                   what a change of the rules changes
  zcat *.gz | sluice simulate rules.yaml --traffic - --html report.html

Traffic:
  --traffic LOG           a file, or - for standard input; several in the order
                          of their times. gzip, and zstd from Node.js 22.15 on
  --format FORMAT         nginx (combined, also Apache's), envoy (its default),
                          json (a line each), csv (with a header) or decisions
                          (the decision log of sluice) [default: recognised]
  --field NAME=SOURCE     the member (a.b leads into objects) or column that a
                          field of a JSON or CSV log is in
  --trusted-proxies N|LIST
                          proxies whose X-Forwarded-For is believed: how many,
                          or addresses, blocks and names [default: none]
  --out-of-order TIME     how late a line may come to be put in its place, up to
                          1h [default: 10s]
  --spread                space the requests of one second evenly, for logs of
                          whole seconds

Requests:
  --domain NAME           the domain of the rules [default: the only one]
  --entry KEY=TEMPLATE    the value of an entry, of fields in braces: endpoint=
                          {method} {path}, mode=live [default: the field of that
                          name; fields are listed in docs/simulate.md]
  --descriptor KEY,KEY    a descriptor that is sent [default: all that the rules
                          are about]
  --without KEY           leave out what needs this entry
  --caller KEY            the entry that names callers in the report [default:
                          customer, tenant, user, api_key, ip, …]

Rules:
  --against OLD_RULES     report only what differs from these rules
  --max-keys N            counters kept, as in serve [default: 1000000]
  --merge-domains, --compatibility SERVICE
                          read rules as serve does with them

Output:
  --json                  the result as one line of JSON
  --html FILE             the report as a page, with plots
  --decisions FILE        each decision as a line of JSON
  --top N                 how many callers are listed [default: 20]
  --fail-if CONDITION     exit with 2 if it is true: 'refused > 1 %',
                          'refused(customer) > 0.1 %', 'lost > 0'

Secret values are shown as hashes: with SLUICE_SECRET, those of the service.
`

/** What `sluice suggest --help` prints. */
export const SUGGEST_HELP = `sluice suggest: propose limits for the traffic of access logs

Usage:
  sluice suggest --traffic LOG… [FLAGS] > rules.yaml

Measures what callers did, and prints a rule file in shadow mode: a limit for
all requests of a caller, and one for each endpoint that needs its own, by tier
if the log has tiers. Comments say why, and what each would have refused.

Traffic (as in sluice simulate --help; it is read twice, so - is not accepted):
  --traffic LOG, --format FORMAT, --field NAME=SOURCE, --trusted-proxies N|LIST,
  --out-of-order TIME, --spread

Proposal:
  --domain NAME           the domain of the rules [default: api]
  --caller KEY            the entry that names callers [default: the best that
                          most lines have: customer, tenant, user, api_key, ip]
  --entry KEY=TEMPLATE    what caller, endpoint or tier are made of [default:
                          the field of that name; endpoint={method} {path}]
  --percentile P          whose busiest time fits [default: 99]
  --head-room PERCENT     how much more is allowed [default: 50]
  --endpoints N           for how many endpoints at most [default: 10]
`
