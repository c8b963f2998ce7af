import { useMemo, useState } from 'preact/hooks'
import type { Asked } from '../../api/client.ts'
import type { Counter, Matched } from '../../api/operations.ts'
import { ChangeDialog } from '../../ui/change-dialog.tsx'
import { Icon } from '../../ui/icon.tsx'
import { Badge, Card } from '../../ui/parts.tsx'
import { PreviewView } from '../../ui/preview-view.tsx'
import { SwitchDialog } from '../rules/switch-dialog.tsx'
import { ruleKey, type Switches } from '../rules/switch-state.ts'
import { type CounterActions, CounterCard } from './counter-card.tsx'
import type { Question } from './question.ts'
import { callerOf } from './raise.ts'
import { RaiseDialog } from './raise-dialog.tsx'
import { Entries } from './request-form.tsx'
import { byWeight, type Explanation, standingOf, verdictOf } from './verdict.ts'

interface AnswerProps {
  readonly question: Question
  readonly answer: Explanation
  readonly switches: Switches
  readonly reload: () => void
}

type Doing = { readonly kind: 'shadow' | 'reset' | 'raise'; readonly counter: Counter }

/** Answer says in one glance what decides, and then everything that applies: what binds comes first. */
export function Answer({ question, answer, switches, reload }: AnswerProps) {
  const [doing, setDoing] = useState<Doing>()
  const { tone, title, sentence } = verdictOf(answer)
  const counters = byWeight(answer.counters)
  const entriesOf = ({ descriptor }: Counter) => question.descriptors[descriptor]?.entries ?? []
  const actionsOf = (counter: Counter): CounterActions => ({
    toShadow: () => setDoing({ kind: 'shadow', counter }),
    reset: () => setDoing({ kind: 'reset', counter }),
    raise: callerOf(entriesOf(counter)) ? () => setDoing({ kind: 'raise', counter }) : undefined,
  })
  const close = (): void => setDoing(undefined)
  return (
    <>
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
        <Card title="How it was matched">
          <ol class="stack">
            {answer.matched.map((matched, i) => (
              <MatchedView key={i} matched={matched} number={answer.matched.length > 1 ? i + 1 : undefined} />
            ))}
          </ol>
        </Card>
      </div>
      {doing?.kind === 'shadow' && (
        <ToShadow domain={question.domain} counter={doing.counter} {...{ switches, close, reload }} />
      )}
      {doing?.kind === 'reset' && (
        <ResetDialog
          domain={question.domain}
          counter={doing.counter}
          entries={entriesOf(doing.counter)}
          onClose={close}
          onDone={reload}
        />
      )}
      {doing?.kind === 'raise' && (
        <RaiseDialog
          counter={doing.counter}
          domain={question.domain}
          entries={entriesOf(doing.counter)}
          onClose={close}
          onDone={reload}
        />
      )}
    </>
  )
}

interface ToShadowProps {
  readonly domain: string
  readonly counter: Counter
  readonly switches: Switches
  readonly close: () => void
  readonly reload: () => void
}

function ToShadow({ domain, counter: { rule_id, rule_name }, switches, close, reload }: ToShadowProps) {
  const before = switches.ofRule.get(ruleKey(domain, rule_id)) ?? switches.ofRule.get(ruleKey(domain, rule_name))
  const id = before?.rule?.id ?? rule_id
  const rule = useMemo(() => ({ domain, id }), [domain, id])
  return <SwitchDialog rule={rule} name={rule_name} mode="shadow" before={before} onClose={close} onDone={reload} />
}

interface ResetProps {
  readonly domain: string
  readonly counter: Counter
  readonly entries: Question['descriptors'][number]['entries']
  readonly onClose: () => void
  readonly onDone: () => void
}

function ResetDialog({ domain, counter, entries, onClose, onDone }: ResetProps) {
  const asked = useMemo<Asked<'resetCounters'>>(
    () => ({ body: { domain, descriptors: [{ entries }] } }),
    [domain, entries],
  )
  return (
    <ChangeDialog<'resetCounters'>
      title={`Reset ${counter.rule_name}`}
      operation="resetCounters"
      asked={asked}
      confirm="Reset"
      isDanger
      said="The counter was reset: the whole budget is there again."
      withReason={(given, reason) => ({ ...given, body: { ...given.body, reason } })}
      show={(preview) => (
        <>
          <p>
            All counters of this descriptor begin at 0 again, on every node. {counter.used} used of {counter.limit} are
            forgotten. It cannot be taken back.
          </p>
          <p>
            <Entries entries={entries} />
          </p>
          <PreviewView preview={{ ...preview, changes: [] }} />
        </>
      )}
      onClose={onClose}
      onDone={onDone}
    />
  )
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
