import type { LiveFrame, Node } from '../../api/operations.ts'
import { Badge } from '../../ui/parts.tsx'

export function StoreBadge({ store }: { readonly store: Node['store'] }) {
  if (store === 'memory') return <Badge>In memory</Badge>
  return store === 'up' ? (
    <Badge tone="good" hasDot>
      Redis up
    </Badge>
  ) : (
    <Badge tone="bad" hasDot>
      Redis away
    </Badge>
  )
}

const CIRCUITS = {
  closed: ['good', 'Circuit closed'],
  half_open: ['warn', 'Circuit half open'],
  open: ['bad', 'Circuit open'],
} as const

/** CircuitBadge: an open circuit means that the store is not asked. In memory there is none. */
export function CircuitBadge({ circuit }: { readonly circuit: Node['circuit'] }) {
  if (circuit === null) return <span class="faint">none</span>
  const [tone, text] = CIRCUITS[circuit]
  return (
    <Badge tone={tone} hasDot>
      {text}
    </Badge>
  )
}

export function DatabaseBadge({ database }: { readonly database: LiveFrame['database'] }) {
  if (database === 'none') return <Badge>None</Badge>
  return (
    <Badge tone={database === 'up' ? 'good' : 'bad'} hasDot>
      {database === 'up' ? 'Up' : 'Away'}
    </Badge>
  )
}
