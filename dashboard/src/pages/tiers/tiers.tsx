import { Fragment } from 'preact'
import { ask } from '../../api/client.ts'
import type { Tier } from '../../api/operations.ts'
import { confirmChange } from '../../kit/change-dialog.tsx'
import { type Column, RecordList } from '../../kit/record-list.tsx'
import { useNewParam } from '../../kit/use-new-param.ts'
import { useResource } from '../../kit/use-resource.ts'
import { whyNot } from '../../state/session.ts'
import { Button } from '../../ui/button.tsx'
import { Badge, Card, Count, PageHead, Skeleton, State, Trouble } from '../../ui/parts.tsx'
import { draftOf } from './tier-draft.ts'
import { openTierForm, type TierFields } from './tier-form.tsx'
import { readTiers, type TierRow } from './tier-rows.ts'
import { toYaml } from './yaml.ts'
import './tiers.css'

const EXAMPLE = 'rate_limit:\n  name: requests\n  unit: minute\n  requests_per_unit: 100\n'

/** Tiers shows the limits and the customers of every tier, and changes them. */
export function Tiers() {
  const { data, problem, reload } = useResource('tiers', readTiers)
  const why = whyNot('admin')
  const edit = (fields: TierFields, before?: Tier): void => openTierForm(fields, { domains, before, reload })
  const domains = [...new Set(data?.map(({ domain }) => domain))]
  useNewParam(why, () => edit(newTier(domains[0])))
  return (
    <>
      <PageHead title="Tiers" about="The limits of each plan, by domain: from the rules, or set here in their place.">
        <Button kind="primary" icon="plus" why={why} onClick={() => edit(newTier(domains[0]))}>
          Create a tier
        </Button>
      </PageHead>
      {data === undefined && (problem ? <Trouble problem={problem} retry={reload} /> : <Skeleton lines={6} />)}
      {data?.length === 0 && (
        <State icon="tiers" title="There are no tiers">
          A tier is a named set of limits, such as free or pro. Create one here, or add it to a rule file below “tiers”.
        </State>
      )}
      <div class="stack">
        {domains.map((domain) => (
          <Card key={domain} title={domain} isFlush>
            <RecordList
              label={`Tiers of ${domain}`}
              columns={[...COLUMNS, actions(why, edit, reload)]}
              list={{ data: data?.filter((row) => row.domain === domain) }}
              keyOf={({ name }) => name}
              empty={null}
            />
          </Card>
        ))}
      </div>
    </>
  )
}

const newTier = (domain = ''): TierFields => ({
  ...{ domain, name: '', text: EXAMPLE, version: undefined, isNew: true, missing: [], isOfFile: false },
})

/** fieldsOf fills the form with the tier that is stored, or with that of the rule file. */
function fieldsOf({ domain, name, stored, inForce }: TierRow): TierFields {
  const draft = stored === undefined && inForce !== undefined ? draftOf(inForce) : undefined
  const text = toYaml(stored?.limits ?? draft?.limits ?? {})
  const isOfFile = stored === undefined
  return { domain, name, text, version: stored?.version, isNew: false, missing: draft?.missing ?? [], isOfFile }
}

const COLUMNS: readonly Column<TierRow>[] = [
  { title: 'Tier', isTight: true, cell: ({ name }) => <strong class="break">{name}</strong> },
  { title: 'Limits', cell: (row) => <Limits row={row} /> },
  {
    title: 'From',
    isTight: true,
    cell: ({ stored, inForce }) => (
      <span class="row">
        {stored === undefined ? <Badge>rules</Badge> : <Badge tone="accent">set here</Badge>}
        {inForce === undefined && <Badge tone="warn">no effect</Badge>}
      </span>
    ),
  },
  {
    title: 'Customers',
    align: 'right',
    isTight: true,
    cell: ({ name, customers }) => (
      <a
        href={`/customers?tier=${encodeURIComponent(name)}`}
        aria-label={`Customers on the tier ${name}: ${customers ?? 'not known'}`}
      >
        {customers === undefined ? '–' : <Count of={customers} />}
      </a>
    ),
  },
]

function Limits({ row }: { readonly row: TierRow }) {
  if (row.stored?.problem) return <span class="break">{row.stored.problem}</span>
  if (row.inForce === undefined) return <span class="faint">No rule of this domain asks for a tier.</span>
  if (row.limits.length === 0) return <span class="faint">no limits</span>
  return (
    <dl class="tier-limits">
      {row.limits.map(({ of, name, text }, i) => (
        <Fragment key={`${of} ${name} ${i}`}>
          <dt class="break" title={of === '' ? 'every request' : of}>
            {of === '' || of === name ? name : `${of}: ${name}`}
          </dt>
          <dd class="num">{text}</dd>
        </Fragment>
      ))}
    </dl>
  )
}

type Edit = (fields: TierFields, before?: Tier) => void

function actions(why: string | undefined, edit: Edit, reload: () => void): Column<TierRow> {
  return {
    title: 'Actions',
    isTitleHidden: true,
    isTight: true,
    align: 'right',
    cell: (row) => (
      <span class="row">
        <Button
          isSmall
          icon="edit"
          why={why}
          label={`Edit: ${row.name}`}
          onClick={() => edit(fieldsOf(row), row.stored)}
        >
          Edit
        </Button>
        {row.stored && (
          <Button
            isSmall
            icon="trash"
            why={why}
            label={`Remove: ${row.name}`}
            onClick={() => row.stored && removeTier(row.stored, reload)}
          />
        )}
      </span>
    ),
  }
}

function removeTier({ domain, name, limits, version }: Tier, reload: () => void): void {
  const params = { domain, tier: name }
  confirmChange({
    title: `Remove the tier ${name} of ${domain}`,
    operation: 'removeTier',
    asked: { params, version },
    about: (
      <p>
        The tier of the rule file applies again. If no file has it, customers on it get the plain limits of the rules.
      </p>
    ),
    confirm: 'Remove',
    isDanger: true,
    done: `The tier ${name} was removed.`,
    undo: () => ask('putTier', { params, body: { limits }, reason: 'undone in the dashboard' }),
    onDone: reload,
  })
}
