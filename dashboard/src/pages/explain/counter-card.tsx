import { durationText } from 'sluice/internal/core/duration-text'
import type { Counter, LimitSource } from '../../api/operations.ts'
import { may } from '../../state/session.ts'
import { Button } from '../../ui/button.tsx'
import { Badge, Count, Meter, Name, type Tone } from '../../ui/parts.tsx'
import type { Entry } from './question.ts'
import { Entries } from './request-form.tsx'
import { type Standing, standingOf } from './verdict.ts'

const TONES: Readonly<Record<Standing, Tone>> = {
  refuses: 'bad',
  'would refuse': 'warn',
  admits: 'good',
  'never refuses': 'plain',
}
const TITLES: Readonly<Record<Standing, string>> = {
  refuses: 'Refuses',
  'would refuse': 'Would refuse',
  admits: 'Admits',
  'never refuses': 'Never refuses',
}

const SOURCES: Readonly<Record<LimitSource['kind'], string>> = {
  key_override: 'a limit of the API key itself',
  customer_override: 'a limit of the customer',
  tier: "the caller's tier",
  rule: 'the rule',
  grant: 'a grant',
}

export interface CounterActions {
  readonly toShadow: (counter: Counter) => void
  readonly reset: (counter: Counter) => void
  /** Not there: the request names no customer. */
  readonly raise: ((counter: Counter) => void) | undefined
}

interface CounterProps {
  readonly counter: Counter
  readonly entries: readonly Entry[]
  readonly isBinding: boolean
  readonly actions: CounterActions
}

/** CounterCard is one rule that applies: its counter now, whether it binds, and what can be done about it. */
export function CounterCard({ counter, entries, isBinding, actions }: CounterProps) {
  const standing = standingOf(counter)
  const { rule_name, described, used, limit, remaining, reset_after_ms, is_unlimited, source, switched_to } = counter
  const isLimited = !is_unlimited && switched_to !== 'off'
  return (
    <section class={isBinding ? 'card counter binding' : 'card counter'} aria-label={`Rule ${rule_name}`}>
      <header>
        <div class="row wrap">
          <h3>
            <Name of={rule_name} />
          </h3>
          <Badge tone={TONES[standing]} hasDot>
            {TITLES[standing]}
          </Badge>
          {isBinding && <Badge tone="bad">this is what binds</Badge>}
          <Mode counter={counter} />
        </div>
        <span class="small soft break">{described}</span>
      </header>
      <div class="inside stack">
        {isLimited && (
          <div class="stack close">
            <div class="row apart small num">
              <span>
                <strong>
                  <Count of={used} />
                </strong>{' '}
                of <Count of={limit} /> used
              </span>
              <span class="soft">
                <Count of={remaining} /> left
                {reset_after_ms > 0 && <> · whole again in {durationText(reset_after_ms, Math.ceil)}</>}
              </span>
            </div>
            <Meter used={used} limit={limit} label={`Used of ${rule_name}`} />
          </div>
        )}
        <p>{counter.what_would_admit}</p>
        <dl class="facts">
          <dt>Descriptor</dt>
          <dd>
            <Entries entries={entries} />
          </dd>
          <dt>Counter</dt>
          <dd>
            <code class="break">{counter.key}</code>
          </dd>
          <dt>Number from</dt>
          <dd class="break">
            {SOURCES[source.kind]}
            {source.id !== null && ` (${source.id})`}
          </dd>
        </dl>
        {may('operator') && isLimited && <Actions counter={counter} actions={actions} />}
      </div>
    </section>
  )
}

function Mode({ counter: { switched_to, is_shadow } }: { readonly counter: Counter }) {
  if (switched_to === 'off') return <Badge tone="bad">switched off</Badge>
  if (switched_to === 'shadow') return <Badge tone="warn">switched to shadow</Badge>
  if (switched_to === 'enforce') return <Badge>switched on</Badge>
  return is_shadow ? <Badge tone="warn">shadow</Badge> : null
}

function Actions({ counter, actions }: { readonly counter: Counter; readonly actions: CounterActions }) {
  const { switched_to, is_shadow, used } = counter
  const isShadow = switched_to === null ? is_shadow : switched_to === 'shadow'
  const { raise } = actions
  return (
    <div class="row wrap">
      {raise && (
        <Button icon="up" onClick={() => raise(counter)}>
          Raise the limit…
        </Button>
      )}
      {!isShadow && (
        <Button icon="eye" onClick={() => actions.toShadow(counter)}>
          Switch rule to shadow…
        </Button>
      )}
      {used > 0 && (
        <Button icon="reset" onClick={() => actions.reset(counter)}>
          Reset this counter…
        </Button>
      )}
    </div>
  )
}
