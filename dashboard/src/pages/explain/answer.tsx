import type { Counter, Matched } from '../../api/operations.ts'
import { confirmChange } from '../../kit/change-dialog.tsx'
import { Icon } from '../../ui/icon.tsx'
import { Badge, Card } from '../../ui/parts.tsx'
import { switchTo } from '../rules/switch-change.tsx'
import { ownSwitch, type Switches } from '../rules/switch-state.ts'
import { type CounterActions, CounterCard } from './counter-card.tsx'
import { MeterCard } from './meter-card.tsx'
import type { Question } from './question.ts'
import { callerAt } from './raise.ts'
import { openRaise } from './raise-form.tsx'
import { Entries } from './request-form.tsx'
import { byWeight, type Explanation, standingOf, verdictOf } from './verdict.ts'

interface AnswerProps {
  readonly question: Question
  readonly answer: Explanation
  readonly switches: Switches
  readonly reload: () => void
}

/** Answer says in one glance what decides, and then everything that applies: what binds comes first. */
export function Answer({ question, answer, switches, reload }: AnswerProps) {
  const { tone, title, sentence } = verdictOf(answer)
  const counters = byWeight(answer.counters)
  const isMeterBinding = answer.blocked === null && !answer.counters.some((each) => standingOf(each) === 'refuses')
  const entriesOf = ({ descriptor }: Counter) => question.descriptors[descriptor]?.entries ?? []
  const { domain } = question
  const actionsOf = (counter: Counter): CounterActions => ({
    toShadow: () => toShadow(domain, counter, switches, reload),
    reset: () => reset(domain, counter, entriesOf(counter), reload),
    raise:
      callerAt(entriesOf(counter)) < 0
        ? undefined
        : () => openRaise({ counter, domain, entries: entriesOf(counter), reload }),
  })
  return (
    <div class="stack">
      <div class={`verdict ${tone}`} role="status">
        <Icon name={tone === 'good' ? 'check' : 'blocks'} size={24} />
        <div>
          <h2 class="break">{title}</h2>
          <p class="break">{sentence}</p>
          {answer.blocked && (
            <p>
              <a href="/blocks">See blocks</a>
            </p>
          )}
        </div>
      </div>
      {counters.map((counter, i) => (
        <CounterCard
          key={`${counter.descriptor} ${counter.rule_id}`}
          counter={counter}
          entries={entriesOf(counter)}
          isBinding={i === 0 && answer.blocked === null && standingOf(counter) === 'refuses'}
          actions={actionsOf(counter)}
        />
      ))}
      {answer.meters.map((state) => (
        <MeterCard
          key={`${state.descriptor} ${state.rule_id}`}
          state={state}
          isBinding={isMeterBinding && state.code !== null}
        />
      ))}
      <Card title="How it was matched">
        <ol class="stack">
          {answer.matched.map((matched, i) => (
            <MatchedView key={i} matched={matched} number={answer.matched.length > 1 ? i + 1 : undefined} />
          ))}
        </ol>
      </Card>
    </div>
  )
}

function toShadow(domain: string, { rule_id, rule_name }: Counter, switches: Switches, reload: () => void): void {
  const before = ownSwitch(switches, domain, { id: rule_id, name: rule_name })
  const rule = { domain, id: before?.rule?.id ?? rule_id }
  switchTo('shadow', { rule, name: rule_name, before, reload })
}

type Entry = Question['descriptors'][number]['entries'][number]

function reset(domain: string, counter: Counter, entries: readonly Entry[], reload: () => void): void {
  const { rule_name, used, limit } = counter
  confirmChange({
    title: `Reset ${rule_name}`,
    operation: 'resetCounters',
    asked: { body: { domain, descriptors: [{ entries }] } },
    confirm: 'Reset',
    isDanger: true,
    isEffectOnly: true,
    reasonField: 'reason',
    about: (
      <>
        <p>
          All counters of this descriptor start from 0 again, on every node. {used} used of {limit} are forgotten. This
          cannot be undone.
        </p>
        <p>
          <Entries entries={entries} />
        </p>
      </>
    ),
    done: 'The counter was reset: the whole budget is available again.',
    onDone: reload,
  })
}

function MatchedView({
  matched: { note, steps },
  number,
}: {
  readonly matched: Matched
  readonly number: number | undefined
}) {
  return (
    <li class="stack close">
      {number !== undefined && <h3>Descriptor {number}</h3>}
      <ul class="steps">
        {steps.map(({ key, value, how, pattern, known }, i) => (
          <li key={i}>
            <code class="break">
              {key}={value ?? '(secret)'}
            </code>{' '}
            <Badge tone={pattern === null ? 'warn' : 'plain'}>{how}</Badge>{' '}
            {pattern !== null && <code class="break soft">{pattern}</code>}
            {known.length > 0 && <span class="small soft break"> The rules know here: {known.join(', ')}</span>}
          </li>
        ))}
      </ul>
      {note !== null && <p class="small soft">{note}</p>}
    </li>
  )
}
