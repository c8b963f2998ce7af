import { computed } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { frames, liveState } from '../../../api/live.ts'
import type { ApiProblem } from '../../../api/problem.ts'
import { Card, PageHead, Skeleton, State, Trouble } from '../../../ui/parts.tsx'

/** The state of the database: unknown until the first figures arrive. */
const database = computed(() => frames.value.at(-1)?.database)

/** WithDatabase shows what needs a database. Without one, nothing is requested. */
export function WithDatabase({ children }: { readonly children: ComponentChildren }) {
  if (database.value === undefined && liveState.value === 'waiting') return <Skeleton lines={8} />
  if (database.value !== 'none') return <>{children}</>
  return (
    <>
      <PageHead title="Customers" />
      <Card isFlush>
        <NoDatabase />
      </Card>
    </>
  )
}

function NoDatabase() {
  return (
    <State icon="customers" title="Customers need a database">
      <span class="stack close">
        <span>
          This service was started without one, so there are only rules. Start it with a directory, for one node and for
          trying it out, or with PostgreSQL:
        </span>
        <code class="code">sluice serve --data DIR</code>
        <code class="code">sluice serve --database postgres://user:password@host:5432/sluice</code>
      </span>
    </State>
  )
}

/** CustomerTrouble shows why customers cannot be read: there is no database, it is not open yet, or something else. */
export function CustomerTrouble({ problem, retry }: { readonly problem: ApiProblem; readonly retry: () => void }) {
  if (problem.code === 'QUOTAS_UNAVAILABLE') return <NoDatabase />
  if (problem.code === 'DATABASE_UNAVAILABLE') {
    return (
      <State icon="wifi" title="The database does not answer">
        It may still be starting. Decisions continue with the last known limits, and nothing can be changed. This page
        loads as soon as the database answers.
      </State>
    )
  }
  return <Trouble problem={problem} retry={retry} />
}
