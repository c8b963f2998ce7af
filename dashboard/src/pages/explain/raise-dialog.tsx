import { useMemo, useState } from 'preact/hooks'
import { type Asked, ask } from '../../api/client.ts'
import type { Counter, Customer, Override } from '../../api/operations.ts'
import { useResource } from '../../api/resource.ts'
import { Button } from '../../ui/button.tsx'
import { ChangeDialog } from '../../ui/change-dialog.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { Skeleton, State, Trouble } from '../../ui/parts.tsx'
import type { Entry } from './question.ts'
import { type Caller, callerOf, overrideName, unitOf } from './raise.ts'

const UNITS: readonly Override['unit'][] = ['second', 'minute', 'hour', 'day', 'week', 'month', 'year']
const DAY_MS = 86_400_000

interface RaiseProps {
  readonly counter: Counter
  readonly domain: string
  readonly entries: readonly Entry[]
  readonly onClose: () => void
  readonly onDone: () => void
}

/** RaiseDialog gives the customer of a request a higher limit, until a day. */
export function RaiseDialog({ counter, domain, entries, onClose, onDone }: RaiseProps) {
  const caller = callerOf(entries)
  const [asked, setAsked] = useState<Asked<'createOverride'>>()
  const [typed, setTyped] = useState<Typed>(() => firstTyped(counter))
  const search = caller === undefined ? '' : caller.kind === 'customer' ? caller.id : caller.prefix
  const customers = useResource(`raise ${search}`, (signal) =>
    ask('listCustomers', { query: { search, page_size: 20 }, signal }).then(({ body }) => body.items),
  )
  const title = `Raise ${counter.rule_name}`
  if (asked !== undefined) {
    const { customer_id } = asked.params
    return (
      <ChangeDialog<'createOverride'>
        title={`${title} for ${customer_id}`}
        operation="createOverride"
        asked={asked}
        confirm="Raise the limit"
        isRaise
        said={`${customer_id} has ${typed.requests} per ${typed.unit}.`}
        withReason={(given, reason) => ({ ...given, body: { ...given.body, reason } })}
        undo={async ({ body: { id }, version }) => {
          await ask('removeOverride', { params: { customer_id, override_id: id }, version: version ?? '*' })
        }}
        onBack={() => setAsked(undefined)}
        onClose={onClose}
        onDone={onDone}
      />
    )
  }
  if (customers.data === undefined || customers.data.length === 0 || caller === undefined) {
    return (
      <Dialog title={title} onClose={onClose}>
        {customers.problem ? (
          <Trouble problem={customers.problem} retry={customers.reload} />
        ) : customers.data === undefined ? (
          <Skeleton lines={3} />
        ) : (
          <State icon="customers" title="No customer is known for this request">
            A limit is raised for a customer. <a href="/customers">Find or make the customer</a>, or change the rule.
          </State>
        )}
      </Dialog>
    )
  }
  return (
    <RaiseForm
      title={title}
      counter={counter}
      caller={caller}
      customers={customers.data}
      typed={typed}
      onType={setTyped}
      onClose={onClose}
      onNext={(customer_id) =>
        setAsked({
          params: { customer_id },
          body: {
            descriptor: overrideName(entries, caller),
            domain,
            rule: counter.rule_id,
            intent: 'raise',
            requests_per_unit: Number(typed.requests),
            unit: typed.unit,
            expires_at: typed.until === '' ? null : new Date(`${typed.until}T23:59:59`).toISOString(),
          },
        })
      }
    />
  )
}

interface Typed {
  readonly customer: string
  readonly requests: string
  readonly unit: Override['unit']
  /** A day of the viewer's zone, or ''. */
  readonly until: string
}

function firstTyped(counter: Counter): Typed {
  const week = new Date(Date.now() + 7 * DAY_MS)
  const until = [week.getFullYear(), week.getMonth() + 1, week.getDate()]
    .map((part) => String(part).padStart(2, '0'))
    .join('-')
  return { customer: '', requests: String(Math.max(1, counter.limit * 2)), unit: unitOf(counter) ?? 'minute', until }
}

interface FormProps {
  readonly title: string
  readonly counter: Counter
  readonly caller: Caller
  readonly customers: readonly Customer[]
  readonly typed: Typed
  readonly onType: (typed: Typed) => void
  readonly onClose: () => void
  readonly onNext: (customerId: string) => void
}

function RaiseForm({ title, counter, caller, customers, typed, onType, onClose, onNext }: FormProps) {
  const exact = customers.find(({ id }) => caller.kind === 'customer' && id === caller.id)
  const options = exact === undefined ? customers : [exact]
  const customer = typed.customer || (options[0]?.id ?? '')
  const isNumber = useMemo(() => /^[1-9]\d{0,14}$/.test(typed.requests), [typed.requests])
  const isSameUnit = unitOf(counter) === typed.unit
  const footer = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button kind="primary" isSubmit isDisabled={!isNumber || customer === ''}>
        See what changes
      </Button>
    </>
  )
  return (
    <Dialog title={title} footer={footer} onClose={onClose} onSubmit={() => onNext(customer)}>
      <Field
        label="Customer"
        hint={caller.kind === 'key' ? `Found by the key's beginning, ${caller.prefix}` : undefined}
      >
        <select value={customer} onChange={(event) => onType({ ...typed, customer: event.currentTarget.value })}>
          {options.map(({ id, name }) => (
            <option key={id} value={id}>
              {name === id || name === '' ? id : `${name} (${id})`}
            </option>
          ))}
        </select>
      </Field>
      <div class="fields">
        <Field label="Requests" hint={`Now ${counter.limit}`} wrong={isNumber ? undefined : 'A whole number above 0'}>
          <input
            inputMode="numeric"
            value={typed.requests}
            onInput={(event) => onType({ ...typed, requests: event.currentTarget.value.trim() })}
          />
        </Field>
        <Field label="Per" hint={isSameUnit ? undefined : 'Another unit is another counter, which begins unused'}>
          <select
            value={typed.unit}
            onChange={(event) => onType({ ...typed, unit: event.currentTarget.value as Override['unit'] })}
          >
            {UNITS.map((unit) => (
              <option key={unit}>{unit}</option>
            ))}
          </select>
        </Field>
        <Field label="Until" hint="The end of this day. Empty: without end">
          <input
            type="date"
            value={typed.until}
            onInput={(event) => onType({ ...typed, until: event.currentTarget.value })}
          />
        </Field>
      </div>
    </Dialog>
  )
}
