import type { Counter } from '../../api/operations.ts'
import { Dialog } from '../../kit/dialog.tsx'
import { openDialog } from '../../kit/dialogs.tsx'
import { presetInput } from '../../kit/end-times.ts'
import { openForm } from '../../kit/record-form.tsx'
import { undo } from '../../kit/undo.ts'
import { State } from '../../ui/parts.tsx'
import type { Entry } from './question.ts'
import { overrideName, unitOf } from './raise.ts'

interface RaiseOptions {
  readonly counter: Counter
  readonly domain: string
  readonly entries: readonly Entry[]
  readonly reload: () => void
}

/** Opens the form that gives the customer of a request a higher limit until a time. */
export function openRaise(options: RaiseOptions): void {
  const { counter } = options
  const title = `Raise ${counter.rule_name}`
  if (counter.customer_id === null) openDialog(<NoCustomer title={title} />)
  else openRaiseForm(title, options, counter.customer_id)
}

function NoCustomer({ title }: { readonly title: string }) {
  return (
    <Dialog title={title}>
      <State icon="customers" title="No customer is known for this request">
        A limit is raised for a customer. <a href="/customers">Find or create the customer</a>, or change the rule.
      </State>
    </Dialog>
  )
}

function openRaiseForm(title: string, options: RaiseOptions, customer_id: string): void {
  const { counter, domain, entries, reload } = options
  const unit = unitOf(counter)
  openForm({
    title: `${title} for ${customer_id}`,
    operation: 'createOverride',
    only: ['requests_per_unit', 'unit', 'expires_at'],
    typed: {
      requests_per_unit: String(Math.max(1, counter.limit * 2)),
      unit: unit ?? 'minute',
      expires_at: presetInput('7 days'),
    },
    views: (typed) => ({
      requests_per_unit: { hint: `Now ${counter.limit}` },
      unit: { hint: typed.unit !== unit && 'Another unit is another counter, which starts from zero.' },
      expires_at: { presets: ['1 h', '24 h', '7 days', '30 days', 'No end'] },
    }),
    next: (read) => ({
      title: `${title} for ${customer_id}`,
      asked: {
        params: { customer_id },
        body: {
          ...read,
          ...{ descriptor: overrideName(entries), domain, rule: counter.rule_id, intent: 'raise' },
        },
      },
      confirm: 'Raise the limit',
      reasonField: 'reason',
      isRaise: true,
      done: `${customer_id} has ${read.requests_per_unit} per ${read.unit}.`,
      undo: ({ body: made }) => undo.overrideCreated(customer_id, made),
      onDone: reload,
    }),
  })
}
