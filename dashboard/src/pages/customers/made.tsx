import { Time } from '../../ui/parts.tsx'
import type { Author } from './timeline.ts'

interface MadeProps {
  readonly record: { readonly reason: string | null; readonly ticket: string | null; readonly created_at: string }
  readonly author: Author | undefined
}

/** Made says who made a record, when and why. An entry that is too old to be read here leaves the time. */
export function Made({ record, author }: MadeProps) {
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
