import { Fragment } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { AuditEntry } from '../../api/operations.ts'
import { storedChanges } from '../../kit/stored-changes.ts'
import { customerHref } from '../../state/links.ts'
import { Button } from '../../ui/button.tsx'
import { Time } from '../../ui/parts.tsx'
import { doneText } from './audit-words.ts'

/** More fields than this are shown when they are asked for. */
const FIRST = 6

/** EntryView is one change: who did what to what, when, why, from where, and what differs. */
export function EntryView({ entry, isMeant }: { readonly entry: AuditEntry; readonly isMeant: boolean }) {
  const box = useRef<HTMLLIElement>(null)
  const [isWhole, setWhole] = useState(false)
  useEffect(() => {
    if (isMeant) box.current?.scrollIntoView({ block: 'center' })
  }, [isMeant])
  const { sequence, at, actor, action, target, customer_id: customer, reason } = entry
  const changes = storedChanges(entry.before, entry.after)
  const isNew = entry.before === null || entry.before === undefined
  const shown = isWhole ? changes : changes.slice(0, FIRST)
  return (
    <li class="audit-entry" id={String(sequence)} ref={box} data-meant={isMeant ? '' : undefined}>
      <div class="when">
        <Time at={at} />
        <a class="small" href={`/audit#${sequence}`} aria-label={`Link to entry ${sequence}`}>
          #{sequence}
        </a>
      </div>
      <div>
        <p class="break">
          <a href={`/audit?actor=${encodeURIComponent(actor.id)}`} title={`Token ${actor.id}`}>
            {actor.name || actor.id}
          </a>{' '}
          <span title={action}>{doneText(entry)}</span> <code>{target.id}</code>
          {customer !== null && customer !== target.id && (
            <>
              {' '}
              of <a href={customerHref(customer)}>{customer}</a>
            </>
          )}
        </p>
        <p class="soft break">
          {reason === null ? <span class="faint">No reason given</span> : <>“{reason}”</>}
          {actor.address !== null && <span class="faint"> · from {actor.address}</span>}
        </p>
        {shown.length > 0 && (
          <dl class="audit-changes">
            {shown.map(({ field, was, will }) => (
              <Fragment key={field}>
                <dt>{field}</dt>
                <dd>
                  {was !== '' && <del class="was">{was}</del>}
                  {was !== '' && will !== '' && ' → '}
                  {will !== '' && <ins class={isNew ? undefined : 'will'}>{will}</ins>}
                </dd>
              </Fragment>
            ))}
          </dl>
        )}
        {changes.length > FIRST && (
          <Button isSmall kind="quiet" onClick={() => setWhole(!isWhole)}>
            {isWhole ? 'Show less' : `Show ${changes.length - FIRST} more fields`}
          </Button>
        )}
      </div>
    </li>
  )
}
