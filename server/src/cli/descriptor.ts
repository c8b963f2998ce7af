import { got, SluiceError } from 'sluice/internal/core/errors'
import type { Entry } from 'sluice/internal/core/request'
import type { Domain, RuleSet } from 'sluice/internal/core/rules/rule-set'

/** Returns the domain of a name; without a name, the only one that there is. */
export function domainOf(rules: RuleSet, name: string | undefined): Domain {
  const known = [...rules.domains.keys()]
  const wanted = name ?? (known.length === 1 ? known[0] : undefined)
  const domain = wanted === undefined ? undefined : rules.domains.get(wanted)
  if (domain !== undefined) return domain
  const detail = name === undefined ? 'not given' : got(name)
  throw new SluiceError('DOMAIN_UNKNOWN', '--domain', `${detail}. Known domains: ${known.join(', ')}`)
}

/** Reads `key=value`. */
export function entryOf(command: string, pair: string): Entry {
  const at = pair.indexOf('=')
  if (at < 1) throw new SluiceError('ENTRY_INVALID', command, got(pair))
  return { key: pair.slice(0, at), value: pair.slice(at + 1) }
}

/** Sets the tier apart, as the service does: in a domain with tiers it takes no part in matching. */
export function entriesOf(
  domain: Domain,
  all: readonly Entry[],
): { readonly entries: readonly Entry[]; readonly tier: string | undefined } {
  const tier = domain.hasTiers ? all.find(({ key }) => key === 'tier')?.value : undefined
  return { tier, entries: tier === undefined ? all : all.filter(({ key }) => key !== 'tier') }
}
