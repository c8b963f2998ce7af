import { Fragment } from 'preact'
import type { MeterState } from '../../api/operations.ts'
import { customerHref } from '../../state/links.ts'
import { Badge, Count } from '../../ui/parts.tsx'

const PARTS = [
  ['allowance', 'Allowance'],
  ['grants', 'Grants'],
  ['credits', 'Credits'],
  ['overdraft', 'Overdraft'],
] as const

interface MeterProps {
  readonly state: MeterState
  readonly isBinding: boolean
}

/** MeterCard is what the ledger would say to a request that the limit of its rule admits. */
export function MeterCard({ state, isBinding }: MeterProps) {
  const { meter, rule_name, takes, code, status, balance, customer_id, what_would_admit } = state
  return (
    <section class={isBinding ? 'card counter binding' : 'card counter'} aria-label={`Meter ${meter}`}>
      <header>
        <div class="row wrap">
          <h3 class="break">{meter}</h3>
          <Badge tone={code === null ? 'good' : 'bad'} hasDot>
            {code === null ? 'Pays' : `Refuses with ${status}`}
          </Badge>
          {isBinding && <Badge tone="bad">this is what binds</Badge>}
        </div>
        <span class="small soft break">
          meter of {rule_name}; a request takes <Count of={takes} />
        </span>
      </header>
      <div class="inside stack">
        <p class="break">{what_would_admit}</p>
        <dl class="facts">
          <dt>Paid by</dt>
          <dd class="break">
            {customer_id === null ? 'nobody' : <a href={customerHref(customer_id)}>{customer_id}</a>}
          </dd>
          {balance !== null &&
            PARTS.map(([part, label]) => (
              <Fragment key={part}>
                <dt>{label}</dt>
                <dd class="num">
                  <Count of={balance.available[part]} /> left
                </dd>
              </Fragment>
            ))}
          {balance !== null && <dt>Period ends</dt>}
          {balance !== null && <dd class="num">{balance.period.end}</dd>}
        </dl>
      </div>
    </section>
  )
}
