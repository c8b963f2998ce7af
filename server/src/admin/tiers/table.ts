import { text, value } from '../../records/field.ts'
import { ANY, TIER_NAME, WORDS } from '../../records/forms.ts'
import { recordTable } from '../../records/record-table.ts'
import { PROBLEM, UPDATED, VERSION } from '../../records/shared-fields.ts'

/** A StoredTier is a tier of one domain as the API has it: it stands in place of the one in YAML. */
export const tiers = recordTable({
  table: 'sluice.tiers',
  schemaName: 'Tier',
  fields: {
    domain: text(WORDS),
    name: text(TIER_NAME),
    /** As below `tiers: NAME:` in a rule file, in JSON. */
    limits: value<unknown>(ANY, { by: 'caller', doc: 'as below the name of a tier in a rule file' }),
    ...VERSION,
    ...UPDATED,
  },
  idOf: (tier) => tierId(tier),
  filters: { domain: 'domain', name: 'name' },
  searched: ['name'],
  derived: PROBLEM,
})

/** tierId is the id of a tier. */
export function tierId({ domain, name }: { readonly domain: string; readonly name: string }): string {
  return `${domain}/${name}`
}
