import type { RuleText } from '../../api/operations.ts'
import { may } from '../../state/session.ts'
import { Button } from '../../ui/button.tsx'
import { Badge, Choice, Count, Name, Time, type Tone } from '../../ui/parts.tsx'
import { type Activities, type Activity, NO_ACTIVITY, type Span } from './activity.ts'
import type { SwitchData } from './rules-data.ts'
import { MODE_WORDS, type Mode, ownSwitch, ruleKey, stateOf } from './switch-state.ts'
import type { DomainRow, MoreRow, PatternRow, TreeRow } from './tree-rows.ts'

export interface TreeActions {
  readonly toggle: (key: string) => void
  readonly more: (key: string) => void
  readonly change: (row: PatternRow, mode: Mode | undefined) => void
  readonly edit: (row: PatternRow) => void
}

interface TreeProps {
  readonly rows: readonly TreeRow[]
  readonly active: RuleText | null | undefined
  readonly data: SwitchData
  readonly canSwitch: boolean
  readonly activities: Activities
  readonly span: Span
  readonly actions: TreeActions
}

const SPAN_WORDS: Readonly<Record<Span, string>> = { minute: '1 min', hour: '1 h' }

/** TreeTable shows the rows of the rule tree. Columns stay where they are, whatever figures say. */
export function TreeTable(props: TreeProps) {
  const { span } = props
  return (
    <div class="table-box" role="region" aria-label="Rules in force" tabIndex={0}>
      <table class="rule-tree">
        <thead>
          <tr>
            <th scope="col">Rule</th>
            <th scope="col">State</th>
            <th scope="col" class="right" title="How often it is asked: the mean of the last minute">
              Per second
            </th>
            <th scope="col" class="right" title={`In the last ${span}, by all nodes`}>
              Refused
            </th>
            <th scope="col" class="right" title={`What shadow mode would have refused in the last ${span}`}>
              Would refuse
            </th>
            <th scope="col" class="tight">
              <span class="hidden-text">Edit</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {props.rows.map((row) => (
            <AnyRow key={row.key} row={row} {...props} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function AnyRow({ row, ...props }: TreeProps & { readonly row: TreeRow }) {
  if (row.kind === 'domain') return <Domain row={row} {...props} />
  if (row.kind === 'more') return <More row={row} {...props} />
  return <Pattern row={row} {...props} />
}

const indent = (depth: number) => ({ paddingLeft: `calc(var(--s4) + ${depth} * var(--indent, 1.375rem))` })

function Toggle({
  isOpen,
  name,
  onClick,
}: {
  readonly isOpen: boolean
  readonly name: string
  readonly onClick: () => void
}) {
  return (
    <button type="button" class="toggle" aria-expanded={isOpen} aria-label={`Below ${name}`} onClick={onClick}>
      <svg aria-hidden="true" viewBox="0 0 16 16" width="12" height="12">
        <path d="M6 4l4 4-4 4" fill="none" stroke="currentColor" stroke-width="1.8" />
      </svg>
    </button>
  )
}

function Domain({ row, active, actions }: { readonly row: DomainRow } & TreeProps) {
  const isOfApi = active?.domains.includes(row.name) ?? false
  return (
    <tr class="domain">
      <th scope="rowgroup" colSpan={6}>
        <div class="row wrap">
          {row.isElsewhere ? (
            <span class="toggle" />
          ) : (
            <Toggle isOpen={row.isOpen} name={row.name} onClick={() => actions.toggle(row.key)} />
          )}
          <Name of={row.name} />
          <span class="faint small num">
            {row.limits.toLocaleString()} {row.limits === 1 ? 'limit' : 'limits'}
          </span>
          {row.isElsewhere && (
            <a class="button small" href={`/rules?${new URLSearchParams({ domain: row.name })}`}>
              Show them
            </a>
          )}
          {row.version !== null && <Badge>version {row.version}</Badge>}
          {row.evaluatesPath && <Badge>rules on the way apply, too</Badge>}
          <span class="source">
            {isOfApi ? (
              <>
                set here by {active?.by}, version {active?.version} ·{' '}
                <a href="/rules/edit">{may('admin') ? 'Edit as YAML' : 'See the YAML'}</a>
              </>
            ) : active === undefined ? null : (
              'from a file: edit the file, it reloads automatically'
            )}
          </span>
        </div>
      </th>
    </tr>
  )
}

function More({ row, actions }: { readonly row: MoreRow } & TreeProps) {
  return (
    <tr>
      <td colSpan={6} style={indent(row.depth)}>
        <Button isSmall kind="quiet" onClick={() => actions.more(row.parent)}>
          Show more: {row.left.toLocaleString()} are left
        </Button>
      </td>
    </tr>
  )
}

function Pattern({
  row,
  active,
  data,
  canSwitch,
  activities,
  span,
  actions,
}: { readonly row: PatternRow } & TreeProps) {
  const { limit, step, tier, isOpen, isFurther, isRepeated, domain } = row
  const isOfApi = active?.domains.includes(domain) ?? false
  const activity = limit === undefined || isRepeated ? undefined : activities.get(ruleKey(domain, limit.id))
  const isCounted = limit !== undefined && !isRepeated && limit.limit !== null
  const figures = isCounted ? (activity ?? NO_ACTIVITY) : undefined
  return (
    <tr>
      <td class="rule" style={indent(row.depth)}>
        <div class="row start">
          {isOpen === undefined ? (
            <span class="toggle" />
          ) : (
            <Toggle isOpen={isOpen} name={row.id} onClick={() => actions.toggle(row.key)} />
          )}
          <div class="break">
            {!isFurther && (
              <span class="mono step">
                {tier === null ? <Name of={step} /> : <Badge tone="accent">tier {tier}</Badge>}
                {isOpen === false && <span class="faint small"> +{row.below}</span>}
              </span>
            )}
            {limit !== undefined && (
              <span class="words">
                {limit.name !== limit.id && (
                  <strong>
                    <Name of={limit.name} />
                  </strong>
                )}{' '}
                {limit.described}
              </span>
            )}
          </div>
        </div>
      </td>
      <td class="state-cell">
        {limit !== undefined && !isRepeated && (
          <RuleSwitch row={row} data={data} canSwitch={canSwitch} actions={actions} />
        )}
        {isRepeated && <span class="faint small">as for every caller</span>}
      </td>
      <Figures figures={figures} span={span} />
      <td class="tight">
        {isOfApi && limit !== undefined && may('admin') && (
          <Button
            kind="quiet"
            isSmall
            icon="edit"
            label={`Edit the limit ${row.within === null ? limit.name : `${limit.name} of tier ${row.within}`}`}
            onClick={() => actions.edit(row)}
          />
        )}
      </td>
    </tr>
  )
}

/** Figures are the cells with what a rule did lately; they are empty for a row that counts nothing. */
function Figures({ figures, span }: { readonly figures: Activity | undefined; readonly span: Span }) {
  return (
    <>
      <td class="right" data-label="Per second">
        {figures && <Rate of={figures.perSecond} />}
      </td>
      <td class={figures && figures.refused > 0 ? 'right loud' : 'right'} data-label={`Refused in ${SPAN_WORDS[span]}`}>
        {figures && <Count of={figures.refused} />}
      </td>
      <td class={figures && figures.shadowRefused > 0 ? 'right warned' : 'right'} data-label="Would refuse">
        {figures && <Count of={figures.shadowRefused} />}
      </td>
    </>
  )
}

/** Rate is a number a second; below ten it has a decimal. */
function Rate({ of }: { readonly of: number }) {
  if (of >= 10) return <Count of={of} />
  return <span class="num">{of === 0 ? '0' : Math.max(0.1, of).toFixed(1)}</span>
}

const TONES: Readonly<Record<Mode, Tone>> = { enforce: 'good', shadow: 'warn', off: 'bad' }
const MODES = [
  ['enforce', 'Enforce'],
  ['shadow', 'Shadow'],
  ['off', 'Off'],
] as const

interface RuleSwitchProps {
  readonly row: PatternRow
  readonly data: SwitchData
  readonly canSwitch: boolean
  readonly actions: TreeActions
}

function RuleSwitch({ row, data, canSwitch, actions }: RuleSwitchProps) {
  const { limit, domain } = row
  if (limit === undefined) return null
  const { mode, by } = stateOf(data.switches, domain, limit)
  const own = ownSwitch(data.switches, domain, limit)
  const author = own?.rule && data.authors.get(ruleKey(domain, own.rule.id))
  return (
    <div class="stack close">
      <div class="row">
        {canSwitch ? (
          <span class={`modes ${mode}`}>
            <Choice
              label={`State of ${limit.name}`}
              options={MODES}
              value={mode}
              onChoose={(chosen) => chosen !== mode && actions.change(row, chosen)}
            />
          </span>
        ) : (
          <Badge tone={TONES[mode]} hasDot>
            {MODE_WORDS[mode]}
          </Badge>
        )}
        {own && canSwitch && (
          <Button
            kind="quiet"
            isSmall
            icon="undo"
            label={`Remove the switch of ${limit.name}: the rules say again what happens`}
            onClick={() => actions.change(row, undefined)}
          />
        )}
      </div>
      {by === 'all' && <span class="faint small">by the switch of all rules</span>}
      {own && (
        <span class="faint small break">
          switched{author && ` by ${author.name}`} <Time at={own.updated_at} />
          {(own.reason ?? author?.reason) && `: ${own.reason ?? author?.reason}`}
        </span>
      )}
    </div>
  )
}
