import { useState } from 'preact/hooks'
import type { Asked } from '../../api/client.ts'
import { ChangeDialog } from '../../ui/change-dialog.tsx'
import type { FormProps } from './form-props.ts'
import { entriesOf, scopeOf } from './limits.ts'
import type { Opened } from './opened.ts'

type Reset = Extract<Opened, { readonly kind: 'reset' | 'reset-limit' | 'reset-key' }>

/** ResetDialog gives the whole budget again: to a customer, to one key, or of one limit. */
export function ResetDialog({ opened, customer, onClose, onDone }: FormProps & { readonly opened: Reset }) {
  const [asked] = useState<Asked<'resetCounters'>>(() => ({ body: targetOf(opened, customer.id) }))
  return (
    <ChangeDialog
      title={titleFor(opened, customer.name)}
      operation="resetCounters"
      asked={asked}
      confirm="Reset"
      isDanger
      note={noteFor(opened)}
      said="The counters begin anew."
      onClose={onClose}
      onDone={onDone}
    />
  )
}

function targetOf(opened: Reset, customerId: string): Asked<'resetCounters'>['body'] {
  if (opened.kind === 'reset-key') return { api_key_id: opened.keyId }
  const entries = opened.kind === 'reset-limit' ? entriesOf(opened.limit, customerId) : undefined
  if (opened.kind === 'reset' || entries === undefined) return { customer_id: customerId }
  return { domain: opened.limit.domain, descriptors: [{ entries }] }
}

function titleFor(opened: Reset, name: string): string {
  if (opened.kind === 'reset-key') return `Reset the counters of ${opened.title}`
  return opened.kind === 'reset-limit'
    ? `Reset the counter of ${scopeOf(opened.limit)}`
    : `Reset all counters of ${name}`
}

function noteFor({ kind }: Reset): string {
  const once = 'What was used is forgotten at once, on every node. A reset cannot be undone.'
  if (kind === 'reset-key') return `All limits of this key begin anew. ${once}`
  return kind === 'reset' ? `All keys, all limits, and what grants have given. ${once}` : once
}
