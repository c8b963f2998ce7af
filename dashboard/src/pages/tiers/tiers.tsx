import { Fragment } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { ask } from '../../api/client.ts'
import type { Tier } from '../../api/operations.ts'
import { useResource } from '../../api/resource.ts'
import { place, setQuery } from '../../state/router.ts'
import { whyNot } from '../../state/session.ts'
import { Button } from '../../ui/button.tsx'
import { ChangeDialog } from '../../ui/change-dialog.tsx'
import { Badge, Card, Count, PageHead, Skeleton, State, Trouble } from '../../ui/parts.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { draftOf } from './tier-draft.ts'
import { askedOf, type TierFields, TierForm } from './tier-form.tsx'
import { readTiers, type TierRow } from './tier-rows.ts'
import { toYaml } from './yaml.ts'
import './tiers.css'

type Step =
  | { readonly kind: 'form'; readonly fields: TierFields; readonly before: Tier | undefined }
  | {
      readonly kind: 'put'
      readonly fields: TierFields
      readonly before: Tier | undefined
      readonly asked: ReturnType<typeof askedOf>
    }
  | { readonly kind: 'remove'; readonly tier: Tier }

const EXAMPLE = 'rate_limit:\n  name: requests\n  unit: minute\n  requests_per_unit: 100\n'

/** Tiers shows what every tier gives, who is on it, and changes it. */
export function Tiers() {
  const { data, problem, reload } = useResource('tiers', readTiers)
  const [step, setStep] = useState<Step>()
  const why = whyNot('admin')
  const isAsked = place.value.query.has('new') && why === undefined
  useEffect(() => {
    if (isAsked) setStep(newTier())
  }, [isAsked])
  const close = (): void => {
    setStep(undefined)
    if (place.peek().query.has('new')) setQuery({ new: undefined })
  }
  const domains = [...new Set(data?.map(({ domain }) => domain))]
  return (
    <>
      <PageHead
        title="Tiers"
        about="What each plan gives, by domain: from the rules, or put in force here in their place."
      >
        <Button kind="primary" icon="plus" why={why} onClick={() => setStep(newTier(domains[0]))}>
          Make a tier
        </Button>
      </PageHead>
      {data === undefined && (problem ? <Trouble problem={problem} retry={reload} /> : <Skeleton lines={6} />)}
      {data?.length === 0 && (
        <State icon="tiers" title="There are no tiers">
          A tier is a named set of limits, such as free or pro. Make one here, or write it into a rule file below
          “tiers”.
        </State>
      )}
      <div class="stack">
        {domains.map((domain) => (
          <Card key={domain} title={domain} isFlush>
            <Table
              label={`Tiers of ${domain}`}
              columns={[...COLUMNS, actions(why, setStep)]}
              rows={data?.filter((row) => row.domain === domain)}
              keyOf={({ name }) => name}
              empty={null}
            />
          </Card>
        ))}
      </div>
      {step && <Steps step={step} domains={domains} setStep={setStep} close={close} reload={reload} />}
    </>
  )
}

const newTier = (domain = ''): Step => ({
  kind: 'form',
  before: undefined,
  fields: { domain, name: '', text: EXAMPLE, version: undefined, isNew: true, left: [], isOfFile: false },
})

/** editOf opens the form with the tier that is stored, or with what the rule file says. */
function editOf({ domain, name, stored, inForce }: TierRow): Step {
  const draft = stored === undefined && inForce !== undefined ? draftOf(inForce) : undefined
  const text = toYaml(stored?.limits ?? draft?.limits ?? {})
  const fields = { domain, name, text, version: stored?.version, isNew: false, left: draft?.left ?? [] }
  return { kind: 'form', before: stored, fields: { ...fields, isOfFile: stored === undefined } }
}

const COLUMNS: readonly Column<TierRow>[] = [
  { title: 'Tier', isTight: true, cell: ({ name }) => <strong class="break">{name}</strong> },
  { title: 'Limits', cell: (row) => <Limits row={row} /> },
  {
    title: 'From',
    isTight: true,
    cell: ({ stored, inForce }) => (
      <span class="row">
        {stored === undefined ? <Badge>rules</Badge> : <Badge tone="accent">put here</Badge>}
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
  if (row.limits.length === 0) return <span class="faint">none of its own</span>
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

function actions(why: string | undefined, setStep: (step: Step) => void): Column<TierRow> {
  return {
    title: 'Actions',
    isTitleHidden: true,
    isTight: true,
    align: 'right',
    cell: (row) => (
      <span class="row">
        <Button isSmall icon="edit" why={why} label={`Edit: ${row.name}`} onClick={() => setStep(editOf(row))}>
          Edit
        </Button>
        {row.stored && (
          <Button
            isSmall
            icon="trash"
            why={why}
            label={`Remove: ${row.name}`}
            onClick={() => row.stored && setStep({ kind: 'remove', tier: row.stored })}
          />
        )}
      </span>
    ),
  }
}

interface StepsProps {
  readonly step: Step
  readonly domains: readonly string[]
  readonly setStep: (step: Step) => void
  readonly close: () => void
  readonly reload: () => void
}

function Steps({ step, domains, setStep, close, reload }: StepsProps) {
  if (step.kind === 'remove') return <Remove tier={step.tier} close={close} reload={reload} />
  const { fields, before } = step
  if (step.kind === 'form') {
    return (
      <TierForm
        fields={fields}
        domains={domains}
        onChange={(changed) => setStep({ kind: 'form', fields: changed, before })}
        onReady={() => setStep({ kind: 'put', fields, before, asked: askedOf(fields) })}
        onClose={close}
      />
    )
  }
  return (
    <ChangeDialog
      title={`Put the tier ${fields.name} of ${fields.domain} in force?`}
      operation="putTier"
      asked={step.asked}
      confirm="Put in force"
      said={`The tier ${fields.name} is in force, on every node.`}
      undo={async ({ body: { domain, name, version } }) => {
        const params = { domain, tier: name }
        if (before === undefined) await ask('removeTier', { params, version, reason: 'undo' })
        else await ask('putTier', { params, version, body: { limits: before.limits }, reason: 'undo' })
      }}
      onBack={() => setStep({ kind: 'form', fields, before })}
      onClose={close}
      onDone={reload}
    />
  )
}

function Remove({ tier, close, reload }: { tier: Tier; close: () => void; reload: () => void }) {
  const { domain, name, limits, version } = tier
  const [asked] = useState({ params: { domain, tier: name }, version })
  return (
    <ChangeDialog
      title={`Remove the tier ${name} of ${domain}?`}
      operation="removeTier"
      asked={asked}
      about={
        <p>
          What a rule file says about it applies again. If no file has it, customers on it get the plain limits of the
          rules.
        </p>
      }
      confirm="Remove"
      isDanger
      said={`The tier ${name} was removed.`}
      undo={async () => void (await ask('putTier', { params: asked.params, body: { limits }, reason: 'undo' }))}
      onClose={close}
      onDone={reload}
    />
  )
}
