import { got, SluiceError } from 'sluice/internal/core/errors'
import { storedKey } from 'sluice/internal/core/keys'
import type { Entry } from 'sluice/internal/core/request'
import { explain as explainMatch } from 'sluice/internal/core/rules/explain'
import { loadRules } from 'sluice/internal/core/rules/load'
import type { Domain, Rule } from 'sluice/internal/core/rules/rule-set'
import { readRuleFiles } from 'sluice/internal/sources/rule-files'
import { COUNTER_FLAGS, type Counters, keysOf, openCounters } from '../app/counters/open-counters.ts'
import { plural } from '../app/plural.ts'
import { type Flags, parseFlags } from '../app/settings/flags.ts'
import { domainOf, entriesOf, entryOf } from './descriptor.ts'

const FLAGS = [
  ...COUNTER_FLAGS,
  { flag: 'rules', value: 'FILE|DIR' },
  { flag: 'merge-domains' },
  { flag: 'domain', value: 'NAME' },
  { flag: 'key', value: 'REDISKEY' },
  { flag: 'all' },
] as const

/**
 * Resets counters in Redis and notifies all nodes: the counters of a descriptor, of a key as stored in Redis, or, with
 * --all, of a whole domain.
 */
export async function reset(args: readonly string[]): Promise<void> {
  const flags = parseFlags('reset', FLAGS, args)
  checkTarget(flags)
  const stored = flags.isOn('all') ? [] : await storedKeys(flags)
  const opened = openCounters('reset', flags, process.env)
  try {
    if (flags.isOn('all')) await resetDomain(opened, flags.last('domain') as string)
    else await resetKeys(opened, stored)
  } finally {
    await opened.close()
  }
}

/** Makes sure that it is said, once, what to forget. A whole domain is never forgotten by mistake. */
function checkTarget(flags: Flags): void {
  const given = [
    flags.rest.length > 0 ? 'key=value' : '',
    flags.has('key') ? '--key' : '',
    flags.isOn('all') ? '--all' : '',
  ].filter((target) => target !== '')
  const fail = (detail: string): never => {
    throw new SluiceError('RESET_TARGET_INVALID', 'reset', detail)
  }
  if (given.length !== 1) fail(given.length === 0 ? 'no target is given' : `${given.join(' and ')} are given together`)
  if (flags.isOn('all') && !flags.has('domain')) fail('--all without --domain')
  if (flags.rest.length > 0 && !flags.has('rules')) fail('key=value without --rules')
}

async function storedKeys(flags: Flags): Promise<readonly string[]> {
  const keys = keysOf(flags, process.env)
  if (flags.has('key')) {
    for (const key of flags.all('key'))
      if (!keys.isShared(key)) throw new SluiceError('RESET_TARGET_INVALID', '--key', got(key))
    return flags.all('key')
  }
  const all = flags.rest.map((pair) => entryOf('reset', pair))
  const rules = loadRules(await readRuleFiles(flags.all('rules')), { mergeDomains: flags.isOn('merge-domains') })
  const domain = domainOf(rules, flags.last('domain'))
  const { matching, entries } = matchingRules(domain, all)
  if (matching.length === 0) {
    throw new SluiceError('RESET_TARGET_INVALID', 'reset', `no rule of ${domain.name} matches this descriptor`)
  }
  return matching.map((rule) => storedKey(keys.encode(domain.name, rule, entries), rule.limit))
}

/** Returns all rules that count a descriptor: its tier's, or every tier's where none is given. */
function matchingRules(domain: Domain, all: readonly Entry[]) {
  const { entries, tier } = entriesOf(domain, all)
  const { rules, tiers } = explainMatch(domain, entries, tier)
  const ofTiers = tier === undefined ? tiers.flatMap((each) => each.rules) : []
  const matching: readonly Rule[] = [...new Set([...rules, ...ofTiers])].filter(({ unlimited }) => !unlimited)
  return { entries, matching }
}

async function resetKeys({ counters, whenConnected }: Counters, stored: readonly string[]): Promise<void> {
  const report = await whenConnected(() => counters.reset(stored))
  const there = report.counters === stored.length ? '' : `, of which ${report.counters} had counted something`
  const hint = report.counters === 0 ? NOTHING_THERE : ''
  print([...stored, `reset ${plural(stored.length, 'counter')}${there}${hint}`], report.isPublished)
}

const NOTHING_THERE =
  '\nIf you expected some: check that SLUICE_SECRET, --key-prefix, --keys and the rules match the service.'

async function resetDomain({ counters, whenConnected }: Counters, domain: string): Promise<void> {
  const report = await whenConnected(() => counters.resetDomain(domain))
  print([`reset ${plural(report.counters, 'counter')} of domain ${domain}`], report.isPublished)
}

function print(lines: readonly string[], isPublished: boolean): void {
  process.stdout.write(`${lines.join('\n')}\n`)
  if (!isPublished) throw new SluiceError('NODES_NOT_TOLD', 'reset', 'the Redis user is not allowed to publish')
}
