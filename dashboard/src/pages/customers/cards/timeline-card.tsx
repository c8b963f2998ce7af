import type { AuditEntry } from '../../../api/operations.ts'
import { storedChanges } from '../../../kit/stored-changes.ts'
import { Icon } from '../../../ui/icon.tsx'
import { Card, Skeleton, State, Time, Trouble } from '../../../ui/parts.tsx'
import { storyOf } from '../data/timeline.ts'
import type { CustomerData } from '../data/use-customer.ts'

/** TimelineCard shows who changed what, when and why, the newest first. The audit log has older changes. */
export function TimelineCard({ data: { customer, changes } }: { readonly data: CustomerData }) {
  const { data, problem, reload } = changes
  const items = data?.items
  return (
    <Card title="Changes" isFlush>
      {items === undefined && (problem === undefined ? <Skeleton /> : <Trouble problem={problem} retry={reload} />)}
      {items?.length === 0 && <State icon="audit" title="No changes yet" />}
      <ol class="timeline">
        {items?.map((entry) => (
          <Entry key={entry.sequence} entry={entry} />
        ))}
      </ol>
      {data?.has_more && (
        <div class="more">
          <a class="button" href={`/audit?${new URLSearchParams({ customer: customer.id })}`}>
            All changes
          </a>
        </div>
      )}
    </Card>
  )
}

function Entry({ entry }: { readonly entry: AuditEntry }) {
  const { actor, at, reason, before, after } = entry
  const { icon, text, untilMs } = storyOf(entry)
  const details = storedChanges(before, after)
  return (
    <li>
      <span class="mark">
        <Icon name={icon} />
      </span>
      <div class="stack none">
        <span class="break">
          {text}
          {untilMs !== undefined && (
            <>
              , ending <Time at={untilMs} />
            </>
          )}
        </span>
        <span class="small soft break">
          {actor.name}, <Time at={at} />
          {reason && <> · “{reason}”</>}
        </span>
        {details.length > 0 && (
          <details class="small">
            <summary>Before and after</summary>
            <dl class="facts">
              {details.map(({ field, was, will }) => (
                <div key={field} class="fact">
                  <dt>{field}</dt>
                  <dd class="break">
                    {was !== '' && <del>{was}</del>} {will !== '' && <ins>{will}</ins>}
                  </dd>
                </div>
              ))}
            </dl>
          </details>
        )}
      </div>
    </li>
  )
}
