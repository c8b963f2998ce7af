import { signal } from '@preact/signals'
import { useId, useRef } from 'preact/hooks'
import type { RuleText } from '../../api/operations.ts'
import { PreviewView } from '../../kit/preview-view.tsx'
import { useUnloadWarning } from '../../kit/use-unload-warning.ts'
import { go } from '../../state/router.ts'
import { may } from '../../state/session.ts'
import { Button } from '../../ui/button.tsx'
import { Badge, Card, Notice, PageHead, Pending, Skeleton, State, Time } from '../../ui/parts.tsx'
import { ChangeCount, DiffView } from './diff-view.tsx'
import { putRules } from './rule-changes.tsx'
import { type Check, useCheck } from './rule-check.ts'
import './rules.css'
import { isWithoutDatabase, useActive } from './rules-data.ts'
import { showLine, YamlEditor } from './yaml-editor.tsx'

/** What was typed and is not in force yet, and the version that it started from. It survives a visit to another page. */
const draft = signal<{ readonly base: number; readonly text: string } | undefined>(undefined)

const FIRST_TEXT = `# Rules that are set here are added to those of files, in a separate domain.
domain: my-api
descriptors:
  - key: user
    rate_limit: { unit: minute, requests_per_unit: 100 }
`

/** EditRules is the rules of the API as YAML, checked while they are typed. */
export function EditRules() {
  const active = useActive()
  if (active.data === undefined) {
    return (
      <>
        <Head />
        <Card>
          {isWithoutDatabase(active.problem) ? (
            <State icon="rules" title="Rules come from files alone">
              There is no database to keep rules in. Start the service with --data or --database, or edit the files:
              they are read again automatically.
            </State>
          ) : (
            <Pending of={active} lines={8} />
          )}
        </Card>
      </>
    )
  }
  return <Editor active={active.data} reload={active.reload} />
}

const Head = ({ children }: { readonly children?: preact.ComponentChildren }) => (
  <PageHead
    title={may('admin') ? 'Edit rules' : 'Rules as YAML'}
    about={
      <>
        The rules that were set through the API. Rules of files are edited in their files.{' '}
        <a href="/rules">All rules in force</a>
      </>
    }
  >
    {children}
  </PageHead>
)

function Editor({ active, reload }: { readonly active: RuleText | null; readonly reload: () => void }) {
  const version = active?.version ?? 0
  const inForce = active?.text ?? ''
  const start = active === null ? FIRST_TEXT : inForce
  const text = draft.value?.text ?? start
  const isChanged = text !== inForce
  const isTyped = text !== start
  const area = useRef<HTMLTextAreaElement>(null)
  const id = useId()
  const canEdit = may('admin')
  const check = useCheck(text, version, canEdit && isChanged)
  const problems = check.kind === 'wrong' ? check.problem.problems : []
  const isOld = draft.value !== undefined && draft.value.base !== version

  useUnloadWarning(isTyped)
  const type = (typed: string): void => {
    draft.value = typed === start ? undefined : { base: draft.value?.base ?? version, text: typed }
  }
  const discard = (): void => {
    draft.value = undefined
  }
  const put = (): void =>
    putRules({
      active,
      text,
      onDone: () => {
        discard()
        reload()
        go('/rules/edit', { replace: true })
      },
    })
  return (
    <>
      <EditHead {...{ canEdit, isTyped, isChanged, check, discard, put }} />
      <div class="stack">
        {!canEdit && <Notice>You may look. Changing rules needs the role admin.</Notice>}
        {isOld && <NewVersion version={version} keep={() => (draft.value = { base: version, text })} />}
        <div class="grid">
          <div class="two-thirds">
            <Card
              title={active === null ? 'New rules' : `Version ${version}`}
              actions={active !== null && <Since active={active} />}
              isFlush
            >
              <YamlEditor
                text={text}
                problems={problems}
                isReadOnly={!canEdit}
                describedBy={`${id}-check`}
                area={area}
                onInput={type}
              />
            </Card>
          </div>
          <Side {...{ check, isChanged, inForce, text, area }} id={`${id}-check`} />
        </div>
      </div>
    </>
  )
}

interface HeadProps {
  readonly canEdit: boolean
  readonly isTyped: boolean
  readonly isChanged: boolean
  readonly check: Check
  readonly discard: () => void
  readonly put: () => void
}

function EditHead({ canEdit, isTyped, isChanged, check, discard, put }: HeadProps) {
  return (
    <Head>
      <a class="button" href="/rules/versions">
        Versions
      </a>
      {isTyped && <Button onClick={discard}>Discard changes</Button>}
      {canEdit && (
        <Button
          kind="primary"
          isDisabled={check.kind !== 'right'}
          {...(!isChanged && { title: 'Nothing is changed yet' })}
          onClick={put}
        >
          Put in force…
        </Button>
      )}
    </Head>
  )
}

/** NewVersion warns that another version was put in force while this text was edited. */
function NewVersion({ version, keep }: { readonly version: number; readonly keep: () => void }) {
  return (
    <Notice tone="warn">
      <div class="row wrap apart">
        <span>
          Version {version} was put in force while you were editing. The changes below are against that version: check
          whether they revert anything.
        </span>
        <Button onClick={keep}>I have checked</Button>
      </div>
    </Notice>
  )
}

const Since = ({ active: { created_at, by } }: { readonly active: RuleText }) => (
  <span class="faint small">
    in force since <Time at={created_at} />, by {by}
  </span>
)

interface SideProps {
  readonly id: string
  readonly check: Check
  readonly isChanged: boolean
  readonly inForce: string
  readonly text: string
  readonly area: { readonly current: HTMLTextAreaElement | null }
}

/** Side shows the check of the text, and how it differs from what is in force. */
function Side({ id, check, isChanged, inForce, text, area }: SideProps) {
  return (
    <div class="third stack top">
      <Card title="Check" actions={<CheckBadge check={check} isChanged={isChanged} />}>
        <div id={id}>
          <CheckView
            check={check}
            isChanged={isChanged}
            onShow={(line, column) => area.current && showLine(area.current, line, column)}
          />
        </div>
      </Card>
      {isChanged && (
        <Card title="Against what is in force" actions={<ChangeCount before={inForce} after={text} />} isFlush>
          <DiffView before={inForce} after={text} label="Changes against what is in force" />
        </Card>
      )}
    </div>
  )
}

function CheckBadge({ check, isChanged }: { readonly check: Check; readonly isChanged: boolean }) {
  if (!isChanged) return <Badge>as in force</Badge>
  if (check.kind === 'right') return <Badge tone="good">right</Badge>
  if (check.kind === 'checking') return <Badge>checking</Badge>
  if (check.kind === 'idle') return null
  const { length } = check.problem.problems
  return <Badge tone="bad">{length === 0 ? 'not checked' : `${length} ${length === 1 ? 'problem' : 'problems'}`}</Badge>
}

interface CheckProps {
  readonly check: Check
  readonly isChanged: boolean
  readonly onShow: (line: number, column: number) => void
}

/** CheckView says what is wrong, as `sluice check` does, or what the rules would do. */
function CheckView({ check, isChanged, onShow }: CheckProps) {
  if (!isChanged) return <p class="soft small">The text is checked while you type, as by sluice check.</p>
  if (check.kind === 'idle') return null
  if (check.kind === 'checking') return <Skeleton lines={2} />
  if (check.kind === 'right') {
    return (
      <div class="stack" role="status">
        <p class="small">These rules are right. Nothing is changed until you put them in force.</p>
        <PreviewView preview={{ ...check.preview, changes: [] }} />
      </div>
    )
  }
  const { problem } = check
  if (problem.problems.length === 0) return <Notice tone="bad">{problem.message}</Notice>
  return (
    <ol class="problems" aria-label="Problems" aria-live="polite">
      {problem.problems.map(({ line, column, message, rule, code }, i) => (
        <li key={i}>
          <button type="button" onClick={() => onShow(line, column)}>
            <span class="place num">
              Line {line}:{column}
            </span>
            <span class="break">{message}</span>
            <span class="hint break">{rule}</span>
            <code class="faint">{code}</code>
          </button>
        </li>
      ))}
    </ol>
  )
}
