import { GATEWAY_SETTINGS } from '../app/settings/gateway-settings.ts'
import { SETTING_GROUPS, SETTINGS, type SettingSpec } from '../app/settings/settings.ts'

const WIDTH = 80
const LEFT = 26

/** wrapped breaks a text into lines that fit. */
function wrapped(text: string, width: number): string[] {
  const lines: string[] = ['']
  for (const word of text.split(' ')) {
    const line = lines[lines.length - 1]
    if (line !== '' && line.length + 1 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`
  }
  return lines
}

/** entry spells a setting: the flag, what it is for, its variable and its default. */
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

/** HELP is what `sluice --help` prints. */
export const HELP = `sluice: a distributed API rate limiter

Usage:
  sluice serve [FLAGS]             run the service: gRPC for Envoy, HTTP, admin
  sluice gateway --to URL --limit N/TIME | --routes FILE
                                   run a reverse proxy with the limiter in it
  sluice check RULES…              say whether rule files, rules at addresses or
                                   a routes file are right, and what they mean
  sluice explain RULES [--domain NAME] KEY=VALUE…
                                   show which rules apply to a descriptor, why,
                                   and their keys in Redis
  sluice reset --redis URL --rules RULES [--domain NAME] KEY=VALUE…
                                   forget what a caller has used, on all nodes
  sluice top [--admin URL]         watch a running service: decisions, refusals,
                                   latency, its store, its busiest keys
  sluice health [--admin URL]      succeed if a service takes requests; with
                                   --live, if it runs. For health checks
  sluice size --rate N --keys N    how many nodes and Redis shards so many
                                   decisions a second and callers take
  sluice token create [--name TEXT] [--role ROLE] [--expires-in DURATION]
  sluice token list|revoke ID      tokens of the admin API: viewer, operator or
                                   admin; a new one is printed once
  sluice token first [--data DIR]  print the token of the first start
  sluice audit verify|list|export [--customer ID] [--limit N]
                                   whether the log of all changes is whole; its
                                   last entries; all of them as JSON lines
  sluice serve --help              the flags of serve
  sluice gateway --help            the flags of gateway
  sluice --help                    this page
  sluice --version

check and explain take --merge-domains: files of the same domain make one set
of rules; and --compatibility SERVICE: rules as serve reads them with it (serve
--help). check takes --json: the result as one line of JSON, for programs.
explain takes --nodes N and --rate HITS (of each node, a second): how much more
than its limit an eventual rule may then admit; with --redis URL it shows what
the counters say. reset takes --key REDISKEY instead of a descriptor, or --all
--domain NAME for a whole domain. Both take the flags and variables of serve
about Redis: SLUICE_SECRET, --key-prefix and --keys decide what keys are.
top takes
--admin URL (default: http://localhost:8082), --token or SLUICE_ADMIN_TOKEN,
--by refused|active, --minutes 1|5|60|1440, --scope node|fleet, --interval TIME,
--json (a document of one line for each look) and --once. health asks
the service that its variables and config file set up. token and audit work
in a database (--database URL, --data DIR, and SLUICE_SECRET where the service
has it) or, also while it runs, through a service (--admin URL, --token).
size takes --limits N (of a decision), --leased SHARE (of decisions that leases
answer), --compact-keys and --json; docs/sizing.md says what it computes.
Rules are described in docs/rules.md, errors in docs/errors.md, running it in
docs/operate.md.

Try it:  sluice serve --examples   with the example rules; it says what to do
`

/** SERVE_HELP is what `sluice serve --help` prints. */
export const SERVE_HELP = `sluice serve: run the service

Usage:
  sluice serve [FLAGS]

  sluice serve --examples                    the example rules, in memory
  sluice serve --rules rules/                your rules; reloaded as they change
  sluice serve --rules rules/ --redis redis://localhost:6379 --workers auto

Each flag is also an environment variable and a line of the config file (with _
for -). A flag comes before a variable, a variable before the file.

${SETTING_GROUPS.map(group).join('\n\n')}

Durations are written 500ms, 10s, 1h30m. Variables of envoyproxy/ratelimit mean
what they mean there, see docs/migrate-from-envoy-ratelimit.md.

Signals: SIGTERM and SIGINT end it without a failed call, a second one at once;
SIGHUP reads the rules again.
`

/** GATEWAY_HELP is what `sluice gateway --help` prints. */
export const GATEWAY_HELP = `sluice gateway: run a reverse proxy with the limiter in it

Usage:
  sluice gateway [FLAGS]

  sluice gateway --to http://localhost:3000 --limit 100/1m
                                             100 a minute for each address
  sluice gateway --routes gateway.yaml       routes with limits of their own
  sluice gateway --routes gateway.yaml --redis redis://localhost --workers auto

Each flag is also an environment variable.

Gateway:
${GATEWAY_SETTINGS.map((spec) => entry(spec)).join('\n')}

The flags of serve about rules, counters, the admin port, metrics, logs, quotas
and the process mean the same here; those about gRPC and the HTTP port have no
effect. Routes files are described in docs/gateway.md; sluice check says whether
one is right.

Signals: SIGTERM and SIGINT end it without a failed request, a second one at
once; SIGHUP reads routes and rules again.
`
