import { ask } from '../../api/client.ts'
import type { Counter, Customer } from '../../api/operations.ts'
import { Dialog } from '../../kit/dialog.tsx'
import { openDialog } from '../../kit/dialogs.tsx'
import { presetInput } from '../../kit/end-times.ts'
import type { Options } from '../../kit/inputs.tsx'
import { SelectInput } from '../../kit/inputs.tsx'
import { openAfter } from '../../kit/open-after.tsx'
import { openForm } from '../../kit/record-form.tsx'
import { undo } from '../../kit/undo.ts'
import { Field } from '../../ui/field.tsx'
import { State } from '../../ui/parts.tsx'
import type { Entry } from './question.ts'
import { type Caller, callerOf, overrideName, unitOf } from './raise.ts'

interface RaiseOptions {
  readonly counter: Counter
  readonly domain: string
  readonly entries: readonly Entry[]
  readonly reload: () => void
}

/** openRaise finds the customer of a request, and gives it a higher limit until a time. */
export function openRaise(options: RaiseOptions): void {
  const title = `Raise ${options.counter.rule_name}`
  const caller = callerOf(options.entries)
  const read = async (signal: AbortSignal): Promise<readonly Customer[]> => {
    if (caller === undefined) return []
    const search = caller.kind === 'customer' ? caller.id : caller.prefix
    return (await ask('listCustomers', { query: { search, page_size: 20 }, signal })).body.items
  }
  openAfter(title, read, (customers) => {
    if (caller !== undefined && customers.length > 0) return openRaiseForm(title, options, caller, customers)
    openDialog(
      <Dialog title={title}>
        <State icon="customers" title="No customer is known for this request">
          A limit is raised for a customer. <a href="/customers">Find or create the customer</a>, or change the rule.
        </State>
      </Dialog>,
    )
  })
}

function openRaiseForm(title: string, options: RaiseOptions, caller: Caller, found: readonly Customer[]): void {
  const { counter, domain, entries, reload } = options
  const exact = found.filter(({ id }) => caller.kind === 'customer' && id === caller.id)
  const customers: Options = (exact.length > 0 ? exact : found).map(({ id, name }) => [id, nameOf(id, name)])
  const unit = unitOf(counter)
  openForm({
    title,
    operation: 'createOverride',
    only: ['requests_per_unit', 'unit', 'expires_at'],
    typed: {
      customer: customers[0]?.[0] ?? '',
      requests_per_unit: String(Math.max(1, counter.limit * 2)),
      unit: unit ?? 'minute',
      expires_at: presetInput('7 days'),
    },
    about: (typed, set) => (
      <Field
        label="Customer"
        hint={caller.kind === 'key' ? `Found by the beginning of the key, ${caller.prefix}` : undefined}
      >
        <SelectInput
          value={typed.customer ?? ''}
          onChange={(customer) => set({ ...typed, customer })}
          options={customers}
        />
      </Field>
    ),
    views: (typed) => ({
      requests_per_unit: { hint: `Now ${counter.limit}` },
      unit: { hint: typed.unit !== unit && 'Another unit is another counter, which starts from zero.' },
      expires_at: { presets: ['1 h', '24 h', '7 days', '30 days', 'No end'] },
    }),
    next: (read, { customer: customer_id = '' }) => ({
      title: `${title} for ${customer_id}`,
      asked: {
        params: { customer_id },
        body: {
          ...read,
          ...{ descriptor: overrideName(entries, caller), domain, rule: counter.rule_id, intent: 'raise' },
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

const nameOf = (id: string, name: string): string => (name === id || name === '' ? id : `${name} (${id})`)
