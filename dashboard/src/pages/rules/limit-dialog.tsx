import { useEffect, useState } from 'preact/hooks'
import type { RuleText } from '../../api/operations.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { Notice, Skeleton } from '../../ui/parts.tsx'
import { messageOf } from '../../ui/toasts.tsx'
import type { LimitFields, LimitPlace } from './limit-text.ts'
import { PutRulesDialog } from './put-rules-dialog.tsx'
import { readActive } from './rules-data.ts'
import type { PatternRow } from './tree-rows.ts'

interface LimitDialogProps {
  readonly row: PatternRow
  readonly onClose: () => void
  readonly onDone: () => void
}

/** What the form works on: the text in force, and where the limit stands in it. */
interface Found {
  readonly active: RuleText
  readonly place: LimitPlace | undefined
  readonly change: (to: LimitFields) => string
}

/** LimitDialog changes one limit of the rules that were put through the API. The rest of their text stays as it is. */
export function LimitDialog({ row, onClose, onDone }: LimitDialogProps) {
  const [found, setFound] = useState<Found>()
  const [wrong, setWrong] = useState('')
  const [typed, setTyped] = useState<LimitFields>()
  const [text, setText] = useState<string>()

  useEffect(() => {
    // The reader of YAML is loaded when it is needed.
    Promise.all([readActive(), import('./limit-text.ts')]).then(
      ([active, { findLimits, changeLimit }]) => {
        if (active === null) return setWrong('No rules were put through the API.')
        const place = findLimits(active.text).find(
          ({ id, tier, domain }) => domain === row.domain && id === row.limit?.id && tier === row.within,
        )
        setTyped(place?.says)
        setFound({ active, place, change: (to) => (place ? changeLimit(active.text, place, to) : active.text) })
      },
      (error: unknown) => setWrong(messageOf(error)),
    )
  }, [row])

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
      onNext={() => setText(found.change(typed))}
    />
  )
}

const UNIT_OPTIONS = ['second', 'minute', 'hour', 'day', 'week', 'month', 'year']
const OTHER = 'another window'

interface FormProps {
  readonly title: string
  readonly row: PatternRow
  readonly place: LimitPlace
  readonly typed: LimitFields
  readonly onType: (typed: LimitFields) => void
  readonly onClose: () => void
  readonly onNext: () => void
}

function LimitForm({ title, row, place, typed, onType, onClose, onNext }: FormProps) {
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
  const isWindow = typed.window !== undefined
  return (
    <Dialog title={title} footer={footer} onClose={onClose} onSubmit={onNext}>
      <p class="soft small break">
        {row.domain} / <code>{row.id}</code>
        {row.within !== null && ` for tier ${row.within}`}: {row.limit?.described}. Line {place.line} of the{' '}
        <a href="/rules/edit">YAML</a>.
      </p>
      {place.isUnlimited ? (
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
          {!place.hasCalendar && (
            <Field label="Per">
              <select
                value={isWindow ? OTHER : (typed.unit ?? '')}
                onChange={({ currentTarget: { value } }) =>
                  onType(
                    value === OTHER
                      ? { ...typed, unit: undefined, window: says.window ?? '' }
                      : { ...typed, unit: given(value), window: undefined },
                  )
                }
              >
                {says.unit === undefined && <option value="">as the defaults say</option>}
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
                value={typed.window}
                onInput={(event) => onType({ ...typed, window: event.currentTarget.value })}
              />
            </Field>
          )}
          {place.isBucket && (
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
      {place.descriptor !== undefined && (
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

const given = (text: string): string | undefined => (text.trim() === '' ? undefined : text.trim())

type Wrongs = Partial<Record<'requests' | 'window' | 'burst', string>>

/** wrongsOf says what cannot be right; the server checks the rest with the whole text. */
function wrongsOf({ says }: LimitPlace, { requests, window, burst }: LimitFields): Wrongs {
  const wrongs: Wrongs = {}
  const isWhole = (text: string): boolean => /^\d{1,15}$/.test(text)
  if (requests === undefined ? says.requests !== undefined : !isWhole(requests)) wrongs.requests = 'A whole number'
  if (window !== undefined && !/^(\d+(\.\d+)?\s*(ms|s|m|h|d|w)\s*)+$/.test(window))
    wrongs.window = 'A duration, such as 90s'
  if (burst !== undefined && !isWhole(burst)) wrongs.burst = 'A whole number'
  return wrongs
}
