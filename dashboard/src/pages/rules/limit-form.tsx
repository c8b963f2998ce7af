import { useState } from 'preact/hooks'
import { ask } from '../../api/client.ts'
import type { LimitDraft, RuleText } from '../../api/operations.ts'
import { ApiProblem } from '../../api/problem.ts'
import { Dialog, FormDialog } from '../../kit/dialog.tsx'
import { openDialog } from '../../kit/dialogs.tsx'
import { optionsOf, SelectInput, TextInput } from '../../kit/inputs.tsx'
import { openAfter } from '../../kit/open-after.tsx'
import { messageOf } from '../../kit/toasts.tsx'
import { Field } from '../../ui/field.tsx'
import { Notice } from '../../ui/parts.tsx'
import { putRules } from './rule-changes.tsx'
import { readActive } from './rules-data.ts'
import type { PatternRow } from './tree-rows.ts'

type LimitFields = LimitDraft['says']

/** editLimit changes one limit of the rules that were set through the API. The rest of their text stays as it is. */
export function editLimit(row: PatternRow, reload: () => void): void {
  const title = `Edit ${row.limit?.name ?? row.id}`
  const read = async (signal: AbortSignal) => {
    const active = await readActive(signal)
    return { active, place: active === null ? undefined : await draft(active.text, row) }
  }
  openAfter(title, read, ({ active, place }) => {
    if (active !== null && place !== undefined) return openLimitForm({ title, row, active, place, reload }, place.says)
    openDialog(
      <Dialog title={title}>
        <Notice>
          {active === null ? (
            'No rules were set through the API.'
          ) : (
            <>
              This limit is written in a way that only the <a href="/rules/edit">YAML editor</a> can change.
            </>
          )}
        </Notice>
      </Dialog>,
    )
  })
}

interface FormOptions {
  readonly title: string
  readonly row: PatternRow
  /** The text in force. */
  readonly active: RuleText
  /** Where the limit stands in the text. */
  readonly place: LimitDraft
  readonly reload: () => void
}

function openLimitForm(options: FormOptions, typed: LimitFields): void {
  openDialog(<LimitForm options={options} first={typed} />)
}

/** draft reads a limit of the text, with changed figures if there are some. Undefined: the limit cannot be changed alone. */
async function draft(text: string, row: PatternRow, change?: LimitFields): Promise<LimitDraft | undefined> {
  const body = { text, domain: row.domain, id: row.limit?.id ?? row.id, tier: row.within, ...(change && { change }) }
  try {
    return (await ask('draftLimit', { body })).body
  } catch (error) {
    if (error instanceof ApiProblem && error.status === 404) return undefined
    throw error
  }
}

function LimitForm({ options, first }: { readonly options: FormOptions; readonly first: LimitFields }) {
  const { title, row, active, place, reload } = options
  const [typed, setTyped] = useState(first)
  const [problem, setProblem] = useState('')
  const wrongs = wrongsOf(place, typed)
  const isSame = Object.entries(typed).every(([name, value]) => Reflect.get(place.says, name) === value)
  const next = async (): Promise<void> => {
    try {
      const text = (await draft(active.text, row, typed))?.text ?? active.text
      putRules({ active, text, onBack: () => openLimitForm(options, typed), onDone: reload })
    } catch (error) {
      setProblem(messageOf(error))
    }
  }
  return (
    <FormDialog
      title={title}
      submit="Preview"
      isDisabled={isSame || Object.keys(wrongs).length > 0}
      onSubmit={() => void next()}
    >
      {problem !== '' && <Notice tone="bad">{problem}</Notice>}
      <p class="soft small break">
        {row.domain} / <code>{row.id}</code>
        {row.within !== null && ` for tier ${row.within}`}: {row.limit?.described}. Line {place.line} of the{' '}
        <a href="/rules/edit">YAML</a>.
      </p>
      {place.is_unlimited ? (
        <Notice>This rule is unlimited. Give it a limit in the YAML editor.</Notice>
      ) : (
        <Figures {...{ place, typed, wrongs }} set={(changes) => setTyped({ ...typed, ...changes })} />
      )}
      {place.has_shadow && (
        <label class="row check">
          <input
            type="checkbox"
            checked={typed.shadow}
            onChange={(event) => setTyped({ ...typed, shadow: event.currentTarget.checked })}
          />
          <span>
            Shadow mode: count and report, but refuse nothing
            <span class="hint"> · for all limits of this pattern</span>
          </span>
        </label>
      )}
    </FormDialog>
  )
}

const UNITS = ['second', 'minute', 'hour', 'day', 'week', 'month', 'year']
const OTHER = 'another window'

interface FiguresProps {
  readonly place: LimitDraft
  readonly typed: LimitFields
  readonly wrongs: Wrongs
  readonly set: (changes: Partial<LimitFields>) => void
}

function Figures({ place: { says, has_calendar, is_bucket }, typed, wrongs, set }: FiguresProps) {
  const isWindow = typed.window !== null
  const choose = (unit: string): void =>
    set(unit === OTHER ? { unit: null, window: says.window ?? '' } : { unit: given(unit), window: null })
  const number = (name: 'requests' | 'burst') => (
    <TextInput inputMode="numeric" value={typed[name] ?? ''} onChange={(value) => set({ [name]: given(value) })} />
  )
  const units = optionsOf([...UNITS, OTHER])
  return (
    <div class="fields">
      <Field label="Requests" hint="0 refuses everything" wrong={wrongs.requests}>
        {number('requests')}
      </Field>
      {!has_calendar && (
        <Field label="Per">
          <SelectInput
            value={isWindow ? OTHER : (typed.unit ?? '')}
            onChange={choose}
            options={says.unit === null ? [['', 'the default'], ...units] : units}
          />
        </Field>
      )}
      {isWindow && (
        <Field label="Window" hint="Such as 90s, 1h30m, 500ms" wrong={wrongs.window}>
          <TextInput value={typed.window ?? ''} onChange={(window) => set({ window })} />
        </Field>
      )}
      {is_bucket && (
        <Field label="Burst" hint="How many fit at the same time. Empty: as many as requests" wrong={wrongs.burst}>
          {number('burst')}
        </Field>
      )}
    </div>
  )
}

const given = (text: string): string | null => (text.trim() === '' ? null : text.trim())

type Wrongs = Partial<Record<'requests' | 'window' | 'burst', string>>

/** wrongsOf returns what cannot be right; the server checks the rest with the whole text. */
function wrongsOf({ says }: LimitDraft, { requests, window, burst }: LimitFields): Wrongs {
  const wrongs: Wrongs = {}
  const isWhole = (text: string): boolean => /^\d{1,15}$/.test(text)
  if (requests === null ? says.requests !== null : !isWhole(requests)) wrongs.requests = 'A whole number'
  if (window !== null && !/^(\d+(\.\d+)?\s*(ms|s|m|h|d|w)\s*)+$/.test(window)) wrongs.window = 'A duration, such as 90s'
  if (burst !== null && !isWhole(burst)) wrongs.burst = 'A whole number'
  return wrongs
}
