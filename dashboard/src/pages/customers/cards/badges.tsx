import type { Customer } from '../../../api/operations.ts'
import { Badge } from '../../../ui/parts.tsx'

export function TierBadge({ tier }: { readonly tier: string | null }) {
  return tier === null ? <span class="faint">none</span> : <Badge tone="accent">{tier}</Badge>
}

export function StatusBadge({
  status,
  isBlocked,
}: {
  readonly status: Customer['status']
  readonly isBlocked: boolean
}) {
  if (isBlocked) {
    return (
      <Badge tone="bad" hasDot>
        Blocked
      </Badge>
    )
  }
  return status === 'active' ? (
    <Badge tone="good" hasDot>
      Active
    </Badge>
  ) : (
    <Badge tone="warn" hasDot>
      Suspended
    </Badge>
  )
}
