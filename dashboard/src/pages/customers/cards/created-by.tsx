import type { Author } from '../../../kit/authors.ts'
import { Badge, Time } from '../../../ui/parts.tsx'
import { isInForce } from '../data/customer-flags.ts'

interface CreatedProps {
  readonly record: { readonly reason: string | null; readonly ticket: string | null; readonly created_at: string }
  readonly author: Author | undefined
}

/** CreatedBy shows who created a record, when and why. Without an entry of the audit log, the time remains. */
export function CreatedBy({ record, author }: CreatedProps) {
  const why = [record.reason ?? author?.reason, record.ticket].filter(Boolean).join(' · ')
  return (
    <span class="stack none record-name">
      <span class="clip">
        {author && `${author.name}, `}
        <Time at={author?.at ?? record.created_at} />
      </span>
      {why !== '' && (
        <span class="clip faint" title={why}>
          {why}
        </span>
      )}
    </span>
  )
}

/** By names the author of a change within a sentence, and the time. */
export function By({ author }: { readonly author: Author | undefined }) {
  if (author === undefined) return null
  return (
    <>
      {' '}
      · by {author.name}, <Time at={author.at} />
    </>
  )
}

/** Span shows when something ends, that it has not begun yet, or that it has ended. */
export function Span(record: { readonly effective_at: string; readonly expires_at: string | null }) {
  const nowMs = Date.now()
  if (Date.parse(record.effective_at) <= nowMs) {
    return isInForce(record, nowMs) ? <Time at={record.expires_at} none="no end" /> : <Badge>Ended</Badge>
  }
  return (
    <>
      begins <Time at={record.effective_at} />
    </>
  )
}
