import { useEffect, useMemo, useState } from 'preact/hooks'
import type { RuleTree } from '../../api/operations.ts'
import { place, setQuery } from '../../state/router.ts'
import { may } from '../../state/session.ts'
import { Button } from '../../ui/button.tsx'
import { Card, Choice, Notice, PageHead, Pending, State, Time } from '../../ui/parts.tsx'
import { activitiesOf, type Span } from './activity.ts'
import { openIncident } from './incident-dialog.tsx'
import { editLimit } from './limit-form.tsx'
import './rules.css'
import { isWithoutDatabase, type SwitchData, useActive, useActivity, useSwitches } from './rules-data.ts'
import { removeSwitch, switchTo } from './switch-change.tsx'
import { type Mode, NO_SWITCHES, ownSwitch } from './switch-state.ts'
import { onlyOf, spanOf, TreePager, useTreePage } from './tree-page.tsx'
import { allKeys, firstOpen, MOST_ROWS, type Only, type PatternRow, STEP_ROWS, treeRows, WHOLE } from './tree-rows.ts'
import { TreeTable } from './tree-table.tsx'

const NO_DATA: SwitchData = { switches: NO_SWITCHES, authors: new Map() }
const ONLY = [
  ['all', 'All'],
  ['shadow', 'In shadow'],
  ['refusing', 'Refusing'],
] as const

const SPANS = [
  ['minute', '1 min'],
  ['hour', '1 h'],
] as const

/** A Change switches a rule to a mode. Without a row, all rules; without a mode, the switch is removed. */
type Change = (row: PatternRow | undefined, mode: Mode | undefined) => void

/** Rules shows what is in force, what each rule does now, and switches it. */
export function Rules() {
  const { query } = place.value
  const domain = query.get('domain') ?? undefined
  const tree = useTreePage()
  const active = useActive()
  const switchData = useSwitches()
  const activity = useActivity()
  const span = spanOf(query)
  const activities = useMemo(() => activitiesOf(activity.data?.rules ?? [], span), [activity.data, span])
  const data = switchData.data ?? NO_DATA
  const canSwitch = may('operator') && switchData.data !== undefined
  const { all } = data.switches

  const reload = (): void => {
    switchData.reload()
    tree.reload()
    active.reload()
  }
  const change: Change = (row, mode) => {
    const before = row?.limit ? ownSwitch(data.switches, row.domain, row.limit) : all
    // A switch that names the rule by its name is the one that is changed.
    const id = before?.rule?.id ?? row?.limit?.id
    const rule = row === undefined || id === undefined ? null : { domain: row.domain, id }
    const options = { rule, name: row?.limit?.name ?? 'all rules', before, reload }
    if (mode === undefined) removeSwitch(options)
    else switchTo(mode, options)
  }
  return (
    <>
      <Head canSwitch={canSwitch} openAll={() => openIncident(all?.mode, (mode) => change(undefined, mode))} />
      <div class="stack">
        <Notices {...{ data, change }} isWithout={isWithoutDatabase(switchData.problem)} activity={activity.data} />
        <Card isFlush>
          {tree.data === undefined ? (
            <Pending of={tree} lines={8} />
          ) : (
            <Tree
              tree={tree.data}
              domain={domain}
              data={data}
              active={isWithoutDatabase(active.problem) ? null : active.data}
              canSwitch={canSwitch}
              activities={activities}
              span={span}
              change={change}
              edit={(row) => editLimit(row, reload)}
            />
          )}
        </Card>
      </div>
    </>
  )
}

function Head({ canSwitch, openAll }: { readonly canSwitch: boolean; readonly openAll: () => void }) {
  return (
    <PageHead title="Rules" about="What is in force, as the service understands it, and what each rule does now.">
      {may('operator') && (
        <Button
          kind="danger"
          icon="alert"
          isDisabled={!canSwitch}
          {...(!canSwitch && { title: 'Switches are kept in the database, which is not there' })}
          onClick={openAll}
        >
          All rules…
        </Button>
      )}
      <a class="button" href="/rules/versions">
        Versions
      </a>
      <a class="button" href="/rules/edit">
        {may('admin') ? 'Edit as YAML' : 'See the YAML'}
      </a>
    </PageHead>
  )
}

const ALL_WORDS: Readonly<Record<Mode, string>> = {
  shadow: 'All rules are in shadow mode: no request is refused.',
  off: 'All rules are off: no caller is limited.',
  enforce: 'All rules are enforced, also those in shadow mode.',
}

interface NoticesProps {
  readonly data: SwitchData
  readonly isWithout: boolean
  readonly activity: ReturnType<typeof useActivity>['data']
  readonly change: Change
}

/** Notices show what applies to all rules, and what is missing on the page. */
function Notices({ data: { switches, authors }, isWithout, activity, change }: NoticesProps) {
  const { all } = switches
  const { nodes = 0, nodes_left_out: missing = 0 } = activity ?? {}
  return (
    <>
      {all && (
        <Notice tone="warn">
          <div class="row wrap apart">
            <span>
              <strong>{ALL_WORDS[all.mode]}</strong> Switched{authors.get('*') && ` by ${authors.get('*')?.name}`}{' '}
              <Time at={all.updated_at} />
              {all.reason && `: ${all.reason}`}
            </span>
            {may('operator') && (
              <Button onClick={() => change(undefined, undefined)}>Let the rules decide again</Button>
            )}
          </div>
        </Notice>
      )}
      {isWithout && (
        <Notice>
          There is no database, so rules come from files alone and cannot be switched here. Start the service with{' '}
          <code>--data</code> or <code>--database</code>.
        </Notice>
      )}
      {missing > 0 && (
        <Notice tone="warn">
          {missing} of {nodes + missing} nodes did not answer: figures are without them.
        </Notice>
      )}
    </>
  )
}

interface TreeProps {
  readonly tree: RuleTree
  readonly domain: string | undefined
  readonly data: SwitchData
  readonly active: Parameters<typeof TreeTable>[0]['active']
  readonly canSwitch: boolean
  readonly activities: Parameters<typeof TreeTable>[0]['activities']
  readonly span: Span
  readonly change: Change
  readonly edit: (row: PatternRow) => void
}

function Tree({ tree, domain, data, active, canSwitch, activities, span, change, edit }: TreeProps) {
  const { query } = place.value
  const text = query.get('text') ?? ''
  const only = onlyOf(query)
  const [open, setOpen] = useState<ReadonlySet<string>>(() => firstOpen(tree))
  const [lengths, setLengths] = useState<ReadonlyMap<string, number>>(new Map())
  const { switches } = data
  // The filter of what refuses follows the figures; all else does not change with them.
  const followed = only === 'refusing' ? activities : undefined
  const rows = useMemo(
    () => treeRows(tree, { open, lengths, text, only, switches, activities: followed ?? new Map() }),
    [tree, open, lengths, text, only, switches, followed],
  )
  useEffect(() => {
    if (domain !== undefined) setOpen((before) => new Set([...before, domain]))
  }, [domain])

  const actions = {
    toggle: (key: string) =>
      setOpen((before) => {
        const next = new Set(before)
        if (!next.delete(key)) next.add(key)
        return next
      }),
    more: (key: string) =>
      setLengths((before) => new Map(before).set(key, (before.get(key) ?? firstLength(key)) + firstLength(key))),
    change,
    edit,
  }
  return (
    <>
      <Filters tree={tree} only={only} span={span} text={text} setOpen={setOpen} />
      {domain !== undefined && <OneDomain name={domain} />}
      {rows.length > 0 ? (
        <TreeTable {...{ rows, active, data, canSwitch, activities, span, actions }} />
      ) : tree.limits === 0 ? (
        <State icon="rules" title="No rules are in force">
          Everything is admitted. Name a file with --rules, or <a href="/rules/edit">put rules here</a>.
        </State>
      ) : (
        <State icon="search" title={only === 'refusing' ? 'No rule refuses at the moment' : 'No rule is found'}>
          <Button onClick={() => setQuery({ text: '', only: '', skip: '' })}>Show all rules</Button>
        </State>
      )}
      <TreePager tree={tree} />
    </>
  )
}

interface FiltersProps {
  readonly tree: RuleTree
  readonly text: string
  readonly only: Only
  readonly span: Span
  readonly setOpen: (keys: ReadonlySet<string>) => void
}

function Filters({ tree, text, only, span, setOpen }: FiltersProps) {
  return (
    <div class="rule-filters">
      <input
        class="input"
        type="search"
        aria-label="Filter rules"
        placeholder="Filter by domain, key, value or name"
        value={text}
        onInput={(event) => setQuery({ text: event.currentTarget.value, skip: '' })}
      />
      <Choice
        label="Show"
        options={ONLY}
        value={only}
        onChoose={(chosen) => setQuery({ only: chosen === 'all' ? '' : chosen, skip: '' })}
      />
      <Choice
        label="Refusals in the last"
        options={SPANS}
        value={span}
        onChoose={(chosen) => setQuery({ in: chosen === 'minute' ? '' : chosen, skip: '' })}
      />
      <span class="row">
        <Button isSmall kind="quiet" onClick={() => setOpen(new Set(allKeys(tree)))}>
          Open all
        </Button>
        <Button isSmall kind="quiet" onClick={() => setOpen(new Set())}>
          Close all
        </Button>
      </span>
      <span class="faint small num">{tree.limits.toLocaleString()} limits in force</span>
    </div>
  )
}

const firstLength = (key: string): number => (key === WHOLE ? MOST_ROWS : STEP_ROWS)

function OneDomain({ name }: { readonly name: string }) {
  return (
    <p class="rule-note">
      Only the domain <strong class="break">{name}</strong>.{' '}
      <Button isSmall onClick={() => setQuery({ domain: '', skip: '' })}>
        Show all domains
      </Button>
    </p>
  )
}
