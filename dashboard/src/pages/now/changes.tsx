import { frames } from '../../api/live.ts'
import type { MadeChange } from '../../api/operations.ts'
import type { ApiProblem } from '../../api/problem.ts'
import { Badge, Card, Skeleton, State, Time } from '../../ui/parts.tsx'
import { Quiet } from './list-card.tsx'
import { auditHref, KIND_TEXTS } from './markers.ts'

interface ChangesProps {
  readonly changes: readonly MadeChange[] | undefined
  readonly problem: ApiProblem | undefined
}

/** Changes lists what was changed in the last hour, and by whom. */
export function Changes({ changes, problem }: ChangesProps) {
  return (
    <Card
      title="What changed"
      span="third"
      isFlush
      actions={
        <a class="small" href="/audit">
          Audit log
        </a>
      }
    >
      <section class="list" aria-label="Changes of the last hour" tabIndex={0}>
        <ChangeList changes={changes} problem={problem} />
      </section>
    </Card>
  )
}

function ChangeList({ changes, problem }: ChangesProps) {
  if (changes === undefined) return problem === undefined ? <Skeleton lines={4} /> : <Quiet problem={problem} />
  return (
    <>
      {changes.length === 0 && <State icon="audit" title="Nothing was changed in the last hour" />}
      <ol class="made">
        {changes.map((change, i) => (
          <MadeItem key={`${change.at} ${change.text} ${i}`} change={change} />
        ))}
      </ol>
      <WithoutDatabase />
    </>
  )
}

function WithoutDatabase() {
  if (frames.value.at(-1)?.database !== 'none') return null
  return <p class="list-foot">Without a database, only changes of rule files are known.</p>
}

function MadeItem({ change }: { readonly change: MadeChange }) {
  const { at, kind, text, actor } = change
  const href = auditHref(change)
  return (
    <li>
      <span class="row">
        <Badge>{KIND_TEXTS[kind]}</Badge>
        <span class="small faint clip">
          <Time at={at} /> by {actor}
        </span>
      </span>
      {href === undefined ? (
        <span class="break">{text}</span>
      ) : (
        <a class="break" href={href}>
          {text}
        </a>
      )}
    </li>
  )
}
