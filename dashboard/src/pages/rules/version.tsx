import { useState } from 'preact/hooks'
import type { RuleText } from '../../api/operations.ts'
import type { Params } from '../../app/pages.ts'
import { useResource } from '../../kit/use-resource.ts'
import { may } from '../../state/session.ts'
import { Button } from '../../ui/button.tsx'
import { Badge, Card, Choice, PageHead, Pending, State, Time } from '../../ui/parts.tsx'
import { ChangeCount, DiffView } from './diff-view.tsx'
import { readBoth, rollBack } from './rule-changes.tsx'
import './rules.css'

const VIEWS = [
  ['changes', 'Against what is in force'],
  ['text', 'Text'],
] as const

/** Version shows one version: its text, and what would change if it were in force. */
export function Version({ params }: { readonly params: Params }) {
  const version = Number(params.version)
  const isNumber = Number.isSafeInteger(version) && version > 0
  const [view, setView] = useState<'changes' | 'text'>()
  const both = useResource(`version ${version}`, (signal) => readBoth(isNumber ? version : 0, signal))
  if (both.data === undefined) {
    const isUnknown = !isNumber || both.problem?.status === 404
    return (
      <>
        <PageHead title={`Version ${params.version}`} about={<a href="/rules/versions">All versions</a>} />
        <Card>
          {isUnknown ? <State icon="search" title="There is no such version" /> : <Pending of={both} lines={8} />}
        </Card>
      </>
    )
  }
  const { former, active } = both.data
  const shown = view ?? (former.is_active ? 'text' : 'changes')
  const inForce = active?.text ?? ''
  return (
    <>
      <PageHead title={`Version ${version}`} about={<a href="/rules/versions">All versions</a>}>
        {former.is_active && <Badge tone="good">in force</Badge>}
        {!former.is_active && may('admin') && (
          <Button kind="primary" icon="undo" onClick={() => rollBack(version, both.reload)}>
            Roll back to this version
          </Button>
        )}
      </PageHead>
      <div class="stack">
        <Facts former={former} />
        <Card
          title={shown === 'text' ? 'Text' : 'What would change if it were in force'}
          actions={
            former.is_active ? undefined : (
              <>
                <ChangeCount before={inForce} after={former.text} />
                <Choice label="Show" options={VIEWS} value={shown} onChoose={setView} />
              </>
            )
          }
          isFlush
        >
          {shown === 'text' ? (
            <pre class="code plain" role="region" aria-label={`Text of version ${version}`} tabIndex={0}>
              {former.text}
            </pre>
          ) : (
            <DiffView before={inForce} after={former.text} label="Changes against what is in force" />
          )}
        </Card>
      </div>
    </>
  )
}

function Facts({ former }: { readonly former: RuleText }) {
  return (
    <Card>
      <dl class="facts">
        <dt>Put in force</dt>
        <dd>
          <Time at={former.created_at} /> by {former.by}
        </dd>
        <dt>Why</dt>
        <dd class="break">{former.comment ?? <span class="faint">not said</span>}</dd>
        <dt>Holds</dt>
        <dd class="break">
          {former.limits} {former.limits === 1 ? 'limit' : 'limits'} in {former.domains.join(', ')}
        </dd>
      </dl>
    </Card>
  )
}
