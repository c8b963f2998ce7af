import type { LimitState, OverrideFields } from '../../../api/operations.ts'
import { fullTime } from '../../../format/time.ts'
import type { Typed } from '../../../kit/fields.ts'
import { type InputProps, type Options, SelectInput, TextInput } from '../../../kit/inputs.tsx'
import { openForm } from '../../../kit/record-form.tsx'
import { undo } from '../../../kit/undo.ts'
import { wholeNumber } from '../../../kit/whole-number.ts'
import { Field } from '../../../ui/field.tsx'
import {
  asUnit,
  burstOf,
  fullest,
  idOf,
  type RaiseScope,
  rateText,
  scopeFields,
  scopeOf,
  scopesOf,
  titleOf,
} from '../data/limits.ts'
import type { CustomerData } from '../data/use-customer.ts'

const MULTIPLES = [2, 5, 10] as const

/** raiseLimit gives a customer, or one of its keys, a higher limit until a time. Then the limit before it applies again. */
export function raiseLimit({ customer, limits: { data = [] }, reload }: CustomerData, given?: LimitState): void {
  const limits = data.filter(({ source }) => source.kind !== 'grant')
  const limitOf = ({ limit = '' }: Typed): LimitState | undefined =>
    limits.find((each) => idOf(each) === limit) ?? given
  const first = given ?? fullest(limits)
  const title = given ? `Raise the limit of ${scopeOf(given)}` : 'Raise a limit'
  openForm({
    title,
    operation: 'createOverride',
    only: ['requests_per_unit', 'unit', 'expires_at', 'ticket'],
    typed: first ? typedFor(first) : {},
    about: (typed, set) => (
      <Target limits={given ? [given] : limits} limit={limitOf(typed)} all={limits} typed={typed} set={set} />
    ),
    views: (typed) => viewsOf(limitOf(typed), typed),
    next: (read, typed) => {
      const limit = limitOf(typed)
      if (limit === undefined) return undefined
      const body = overrideOf(limit, typed, read, scopesOf(limits, limit))
      return {
        title,
        asked: { params: { customer_id: customer.id }, body },
        about: <Step limit={limit} body={body} />,
        confirm: 'Raise',
        reasonField: 'reason',
        isRaise: true,
        done: `The limit is ${rateText(body.requests_per_unit, body.unit, 0)} now.`,
        undo: ({ body: made }) => undo.overrideCreated(customer.id, made),
        onDone: reload,
      }
    },
  })
}

/** typedFor fills the form for a limit: twice as much, of the same unit. */
const typedFor = (limit: LimitState): Typed => ({
  limit: idOf(limit),
  requests_per_unit: String(limit.limit * 2),
  unit: asUnit(limit.unit) ?? 'minute',
})

function viewsOf(limit: LimitState | undefined, { requests_per_unit: typed = '', unit }: Typed) {
  const count = wholeNumber(typed)
  const isLower = limit !== undefined && count !== undefined && count < limit.limit
  return {
    requests_per_unit: {
      label: 'New limit',
      hint: isLower && 'This is lower than the limit now.',
      input: (props: InputProps) => <Multiples {...props} of={limit?.limit ?? 0} />,
    },
    unit: { hint: unit !== limit?.unit && 'Another unit is another counter, which starts from zero.' },
  }
}

function Multiples({ of, ...props }: InputProps & { readonly of: number }) {
  return (
    <>
      <TextInput {...props} inputMode="numeric" autofocus />
      <div class="row wrap" role="group" aria-label="Multiples">
        {MULTIPLES.map((times) => (
          <button key={times} type="button" class="button small" onClick={() => props.onChange(String(of * times))}>
            ×{times}
          </button>
        ))}
      </div>
    </>
  )
}

function overrideOf(
  limit: LimitState,
  { isWide, scope }: Typed,
  read: OverrideFields,
  scopes: readonly RaiseScope[],
): OverrideFields {
  return {
    ...read,
    descriptor: limit.descriptor,
    ...scopeFields(scopes.find((each) => each === scope) ?? 'rule', limit),
    intent: 'raise',
    ...burstOf(limit, read.requests_per_unit),
    ...(limit.api_key_id !== null && !isWide && { api_key_id: limit.api_key_id }),
  }
}

interface TargetProps {
  /** The limits to choose from. */
  readonly limits: readonly LimitState[]
  readonly limit: LimitState | undefined
  readonly all: readonly LimitState[]
  readonly typed: Typed
  readonly set: (typed: Typed) => void
}

/** Target asks which limit is raised, for which keys and of which rules. */
function Target({ limits, limit, all, typed, set }: TargetProps) {
  if (limit === undefined) return <p class="small soft">No limit applies to this customer.</p>
  const choose = (id: string): void => set(typedFor(limits.find((each) => idOf(each) === id) ?? limit))
  const scopes = scopesOf(all, limit)
  const keys: Options = [
    ['', `This key (${limit.api_key_prefix}…)`],
    ['all', 'All keys of the customer'],
  ]
  return (
    <>
      {limits.length > 1 && (
        <Field label="Limit">
          <SelectInput
            value={idOf(limit)}
            onChange={choose}
            options={limits.map((each) => [idOf(each), nameOf(each)])}
          />
        </Field>
      )}
      <p class="small soft">
        Now <strong>{rateText(limit.limit, limit.unit, limit.window_ms)}</strong>
        {limit.is_use_known && `, of which ${limit.used.toLocaleString()} are used`}.
      </p>
      {limit.api_key_id !== null && (
        <Field label="For">
          <SelectInput value={typed.isWide ?? ''} onChange={(isWide) => set({ ...typed, isWide })} options={keys} />
        </Field>
      )}
      {scopes.length > 1 && (
        <Field label="Rules" hint="The preview lists the effect on each.">
          <SelectInput
            value={scopes.find((each) => each === typed.scope) ?? 'rule'}
            onChange={(scope) => set({ ...typed, scope })}
            options={scopes.map((each) => [each, scopeText(each, limit)])}
          />
        </Field>
      )}
    </>
  )
}

function scopeText(scope: RaiseScope, { domain, rule_id }: LimitState): string {
  if (scope === 'rule') return `This one: ${domain}/${rule_id}`
  return scope === 'domain' ? `Every rule of ${domain}` : 'Every rule, also those added later'
}

function nameOf(limit: LimitState): string {
  const whose = limit.api_key_prefix === null ? 'customer' : `key ${limit.api_key_prefix}…`
  return `${limit.domain}/${limit.rule_id} · ${titleOf(limit)} · ${whose} · ${rateText(limit.limit, limit.unit, limit.window_ms)}`
}

/** Step shows in one line the limit before and after. */
function Step({ limit, body }: { readonly limit: LimitState; readonly body: OverrideFields }) {
  const whose = body.api_key_id ? `key ${limit.api_key_prefix}…` : 'the whole customer'
  return (
    <p>
      <span class="soft">{rateText(limit.limit, limit.unit, limit.window_ms)}</span> →{' '}
      <strong>{rateText(body.requests_per_unit, body.unit, 0)}</strong> for {whose},{' '}
      {body.expires_at ? `until ${fullTime(Date.parse(body.expires_at))}` : 'without an end'}.
    </p>
  )
}
