import { useState } from 'preact/hooks'
import type { Asked } from '../../api/client.ts'
import type { LimitState, OverrideFields } from '../../api/operations.ts'
import { Button } from '../../ui/button.tsx'
import { ChangeDialog } from '../../ui/change-dialog.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { EndField } from './end-field.tsx'
import { endField, endOf } from './end-times.ts'
import { FormFooter } from './form-footer.tsx'
import type { FormProps } from './form-props.ts'
import {
  asUnit,
  burstOf,
  idOf,
  type RaiseScope,
  rateText,
  scopeFields,
  scopeOf,
  scopesOf,
  titleOf,
  UNITS,
  type Unit,
} from './limits.ts'
import { ScopeField, Step } from './raise-parts.tsx'
import { undo } from './undo.ts'
import { wholeNumber } from './whole-number.ts'

const TIMES = [2, 5, 10] as const

/** RaiseForm gives a customer, or one key, a limit of its own, until a date. The limit before it comes back by itself. */
export function RaiseForm({ customer, data, limit: given, onClose, onDone }: FormProps & { limit?: LimitState }) {
  const limits = (data.limits.data ?? []).filter(({ source }) => source.kind !== 'grant')
  const [chosen, setChosen] = useState(given ? idOf(given) : firstId(limits))
  const limit = limits.find((each) => idOf(each) === chosen) ?? given ?? limits[0]
  const [typed, setTyped] = useState(limit ? String(limit.limit * 2) : '')
  const [unit, setUnit] = useState<Unit>(asUnit(limit?.unit ?? null) ?? 'minute')
  const [isWide, setWide] = useState(false)
  const [wanted, setScope] = useState<RaiseScope>('rule')
  const [end, setEnd] = useState('')
  const [ticket, setTicket] = useState('')
  const [isChecked, setChecked] = useState(false)
  const [asked, setAsked] = useState<Asked<'createOverride'>>()

  const count = wholeNumber(typed)
  const keyId = isWide ? undefined : (limit?.api_key_id ?? undefined)
  const scopes = limit === undefined ? [] : scopesOf(limits, limit)
  const scope = scopes.includes(wanted) ? wanted : 'rule'
  const title = given ? `Raise the limit of ${scopeOf(given)}` : 'Raise a limit'
  if (asked !== undefined) {
    return (
      <ChangeDialog
        title={title}
        operation="createOverride"
        asked={asked}
        about={limit && <Step limit={limit} body={asked.body} />}
        confirm="Raise"
        isReasonKept
        isRaise
        said={`The limit is ${rateText(asked.body.requests_per_unit, asked.body.unit, 0)} now.`}
        undo={({ body }) => undo.overrideMade(customer.id, body)}
        onBack={() => setAsked(undefined)}
        onClose={onClose}
        onDone={onDone}
      />
    )
  }
  const choose = (id: string): void => {
    const next = limits.find((each) => idOf(each) === id)
    setChosen(id)
    if (next === undefined) return
    setTyped(String(next.limit * 2))
    setUnit(asUnit(next.unit) ?? 'minute')
  }
  const preview = (): void => {
    setChecked(true)
    const until = endOf(end, Date.now())
    if (limit === undefined || count === undefined || until.kind === 'wrong') return
    const body: OverrideFields = {
      descriptor: limit.descriptor,
      ...scopeFields(scope, limit),
      intent: 'raise',
      requests_per_unit: count,
      unit,
      ...burstOf(limit, count),
      ...(keyId !== undefined && { api_key_id: keyId }),
      ...(ticket.trim() !== '' && { ticket: ticket.trim() }),
      expires_at: endField(until),
    }
    setAsked({ params: { customer_id: customer.id }, body })
  }
  return (
    <Dialog title={title} footer={<FormFooter onClose={onClose} />} onClose={onClose} onSubmit={preview}>
      {given === undefined && (
        <Field label="Limit">
          <select value={chosen} onChange={(event) => choose(event.currentTarget.value)}>
            {limits.map((each) => (
              <option key={idOf(each)} value={idOf(each)}>
                {optionText(each)}
              </option>
            ))}
          </select>
        </Field>
      )}
      {limit && (
        <p class="small soft">
          Now <strong>{rateText(limit.limit, limit.unit, limit.window_ms)}</strong>
          {limit.is_use_known && `, of which ${limit.used.toLocaleString()} are used`}.
        </p>
      )}
      <div class="fields">
        <Field
          label="New limit"
          wrong={isChecked && count === undefined ? 'A whole number from 1 on.' : undefined}
          hint={limit && count !== undefined && count < limit.limit ? 'This is lower than the limit now.' : undefined}
        >
          <input autofocus inputMode="numeric" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
        </Field>
        <Field label="Per" hint={unit === limit?.unit ? undefined : 'Another unit counts anew, from nothing.'}>
          <select value={unit} onChange={(event) => setUnit(event.currentTarget.value as Unit)}>
            {UNITS.map((each) => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </select>
        </Field>
      </div>
      {limit && (
        <div class="row wrap" role="group" aria-label="Multiples">
          {TIMES.map((times) => (
            <Button key={times} isSmall onClick={() => setTyped(String(limit.limit * times))}>
              ×{times}
            </Button>
          ))}
        </div>
      )}
      {limit?.api_key_id && (
        <Field label="For">
          <select value={isWide ? 'all' : 'key'} onChange={(event) => setWide(event.currentTarget.value === 'all')}>
            <option value="key">This key ({limit.api_key_prefix}…)</option>
            <option value="all">All keys of the customer</option>
          </select>
        </Field>
      )}
      {limit && scopes.length > 1 && <ScopeField limit={limit} scopes={scopes} scope={scope} onChange={setScope} />}
      <EndField value={end} isChecked={isChecked} onChange={setEnd} />
      <Field label="Ticket" hint="Where it was asked for. It may be left out.">
        <input value={ticket} maxLength={200} onInput={(event) => setTicket(event.currentTarget.value)} />
      </Field>
    </Dialog>
  )
}

const firstId = ([first]: readonly LimitState[]): string => (first ? idOf(first) : '')

function optionText(limit: LimitState): string {
  const whose = limit.api_key_prefix === null ? 'customer' : `key ${limit.api_key_prefix}…`
  return `${limit.domain}/${limit.rule_id} · ${titleOf(limit)} · ${whose} · ${rateText(limit.limit, limit.unit, limit.window_ms)}`
}
