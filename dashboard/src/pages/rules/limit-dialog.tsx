import { useEffect, useState } from 'preact/hooks'
import { ask } from '../../api/client.ts'
import type { LimitDraft, RuleText } from '../../api/operations.ts'
import { ApiProblem } from '../../api/problem.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { Notice, Skeleton } from '../../ui/parts.tsx'
import { messageOf } from '../../ui/toasts.tsx'
import { PutRulesDialog } from './put-rules-dialog.tsx'
import { readActive } from './rules-data.ts'
import type { PatternRow } from './tree-rows.ts'

interface LimitDialogProps {
  readonly row: PatternRow
  readonly onClose: () => void
  readonly onDone: () => void
}

type LimitFields = LimitDraft['says']

/** What the form works on: the text in force, and where the limit stands in it. */
interface Found {
  readonly active: RuleText
  /** Undefined: the limit is written in a way that only the editor can change. */
  readonly place: LimitDraft | undefined
}

/** LimitDialog changes one limit of the rules that were put through the API. The rest of their text stays as it is. */
export function LimitDialog({ row, onClose, onDone }: LimitDialogProps) {
  const [found, setFound] = useState<Found>()
  const [wrong, setWrong] = useState('')
  const [typed, setTyped] = useState<LimitFields>()
  const [text, setText] = useState<string>()

  useEffect(() => {
    const find = async (): Promise<void> => {
      const active = await readActive()
      if (active === null) return setWrong('No rules were put through the API.')
      const place = await draft(active.text, row)
      setTyped(place?.says)
      setFound({ active, place })
    }
    find().catch((error: unknown) => setWrong(messageOf(error)))
  }, [row])

  const next = async (rules: string, change: LimitFields): Promise<void> => {
    try {
      setText((await draft(rules, row, change))?.text)
    } catch (error) {
      setWrong(messageOf(error))
    }
  }

  const title = `Edit ${row.limit?.name ?? row.id}`
  if (found && text !== undefined) {
    return (
      <PutRulesDialog
        active={found.active}
        text={text}
        onBack={() => setText(undefined)}
        onClose={onClose}
        onDone={onDone}
      />
    )
  }
  if (!found?.place || !typed) {
    return (
      <Dialog title={title} onClose={onClose}>
        {wrong !== '' ? (
          <Notice tone="bad">{wrong}</Notice>
        ) : found ? (
          <Notice>
            This limit is written in a way that only the <a href="/rules/edit">YAML editor</a> can change.
          </Notice>
        ) : (
          <Skeleton lines={3} />
        )}
      </Dialog>
    )
  }
  return (
    <LimitForm
      title={title}
      row={row}
      place={found.place}
      typed={typed}
      onType={setTyped}
      onClose={onClose}
      wrong={wrong}
      onNext={() => void next(found.active.text, typed)}
    />
  )
}

/** draft asks for a limit of the text, with other figures if there are some. */
async function draft(text: string, row: PatternRow, change?: LimitFields): Promise<LimitDraft | undefined> {
  const body = { text, domain: row.domain, id: row.limit?.id ?? row.id, tier: row.within, ...(change && { change }) }
  try {
    return (await ask('draftLimit', { body })).body
  } catch (error) {
    if (error instanceof ApiProblem && error.status === 404) return undefined
    throw error
  }
}

const UNIT_OPTIONS = ['second', 'minute', 'hour', 'day', 'week', 'month', 'year']
const OTHER = 'another window'

interface FormProps {
  readonly title: string
  readonly row: PatternRow
  readonly place: LimitDraft
  readonly typed: LimitFields
  readonly onType: (typed: LimitFields) => void
  readonly wrong: string
  readonly onClose: () => void
  readonly onNext: () => void
}

function LimitForm({ title, row, place, typed, wrong, onType, onClose, onNext }: FormProps) {
  const { says } = place
  const wrongs = wrongsOf(place, typed)
  const isSame = Object.entries(typed).every(([name, value]) => Reflect.get(says, name) === value)
  const footer = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button kind="primary" isSubmit isDisabled={isSame || Object.keys(wrongs).length > 0}>
        See what changes
      </Button>
    </>
  )
  const isWindow = typed.window !== null
  return (
    <Dialog title={title} footer={footer} onClose={onClose} onSubmit={onNext}>
      {wrong !== '' && <Notice tone="bad">{wrong}</Notice>}
      <p class="soft small break">
        {row.domain} / <code>{row.id}</code>
        {row.within !== null && ` for tier ${row.within}`}: {row.limit?.described}. Line {place.line} of the{' '}
        <a href="/rules/edit">YAML</a>.
      </p>
      {place.is_unlimited ? (
        <Notice>This rule is unlimited. Give it a limit in the YAML editor.</Notice>
      ) : (
        <div class="fields">
          <Field label="Requests" hint="0 refuses everything" wrong={wrongs.requests}>
            <input
              inputMode="numeric"
              value={typed.requests ?? ''}
              onInput={(event) => onType({ ...typed, requests: given(event.currentTarget.value) })}
            />
          </Field>
          {!place.has_calendar && (
            <Field label="Per">
              <select
                value={isWindow ? OTHER : (typed.unit ?? '')}
                onChange={({ currentTarget: { value } }) =>
                  onType(
                    value === OTHER
                      ? { ...typed, unit: null, window: says.window ?? '' }
                      : { ...typed, unit: given(value), window: null },
                  )
                }
              >
                {says.unit === null && <option value="">as the defaults say</option>}
                {UNIT_OPTIONS.map((unit) => (
                  <option key={unit}>{unit}</option>
                ))}
                <option>{OTHER}</option>
              </select>
            </Field>
          )}
          {isWindow && (
            <Field label="Window" hint="Such as 90s, 1h30m, 500ms" wrong={wrongs.window}>
              <input
                value={typed.window ?? ''}
                onInput={(event) => onType({ ...typed, window: event.currentTarget.value })}
              />
            </Field>
          )}
          {place.is_bucket && (
            <Field label="Burst" hint="How many fit at once. Empty: as many as requests" wrong={wrongs.burst}>
              <input
                inputMode="numeric"
                value={typed.burst ?? ''}
                onInput={(event) => onType({ ...typed, burst: given(event.currentTarget.value) })}
              />
            </Field>
          )}
        </div>
      )}
      {place.has_shadow && (
        <label class="row check">
          <input
            type="checkbox"
            checked={typed.shadow}
            onChange={(event) => onType({ ...typed, shadow: event.currentTarget.checked })}
          />
          <span>
            Shadow mode: count and report, but refuse nobody
            <span class="hint"> · for all limits of this pattern</span>
          </span>
        </label>
      )}
    </Dialog>
  )
}

const given = (text: string): string | null => (text.trim() === '' ? null : text.trim())

type Wrongs = Partial<Record<'requests' | 'window' | 'burst', string>>

/** wrongsOf says what cannot be right; the server checks the rest with the whole text. */
function wrongsOf({ says }: LimitDraft, { requests, window, burst }: LimitFields): Wrongs {
  const wrongs: Wrongs = {}
  const isWhole = (text: string): boolean => /^\d{1,15}$/.test(text)
  if (requests === null ? says.requests !== null : !isWhole(requests)) wrongs.requests = 'A whole number'
  if (window !== null && !/^(\d+(\.\d+)?\s*(ms|s|m|h|d|w)\s*)+$/.test(window)) wrongs.window = 'A duration, such as 90s'
  if (burst !== null && !isWhole(burst)) wrongs.burst = 'A whole number'
  return wrongs
}
