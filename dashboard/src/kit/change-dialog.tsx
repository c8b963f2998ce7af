import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { type Answer, type Asked, ask, type OperationId, preview } from '../api/client.ts'
import { liveState } from '../api/live.ts'
import type { Preview } from '../api/operations.ts'
import { type ApiProblem, asProblem } from '../api/problem.ts'
import { recovery } from '../api/recovery.ts'
import { Button } from '../ui/button.tsx'
import { Field } from '../ui/field.tsx'
import { Notice, Skeleton } from '../ui/parts.tsx'
import { Dialog } from './dialog.tsx'
import { closeDialog, openDialog } from './dialogs.tsx'
import { inForceText, isUnused, lowered, lowersText } from './in-force-words.ts'
import { PreviewView } from './preview-view.tsx'
import { notify } from './toasts.tsx'

/** A Change is one operation that changes something, and all that its dialog says about it. */
export interface Change<Id extends OperationId> {
  readonly title: string
  readonly operation: Id
  readonly asked: Asked<Id>
  /** The text of the button that makes the change. */
  readonly confirm: string
  /** The message after it. */
  readonly done: string
  /** Shown above the preview. */
  readonly about?: ComponentChildren
  /** What to know before: such as that it cannot be undone. */
  readonly note?: ComponentChildren
  readonly isDanger?: boolean
  readonly isWide?: boolean
  /** The preview shows who is affected, and not the fields before and after. */
  readonly isEffectOnly?: boolean
  /** False: the form has asked for the reason already. */
  readonly isReasonAsked?: boolean
  /** The field of the request that keeps the reason, in addition to the audit log. */
  readonly reasonField?: 'reason' | 'comment'
  /** The reason that is filled in. */
  readonly reason?: string | undefined
  /** It is meant as a raise: lowering a limit has to be allowed first. */
  readonly isRaise?: boolean
  /** Takes the change back; without it, the change cannot be undone. */
  readonly undo?: ((answer: Answer<Id>) => Promise<unknown>) | undefined
  /** Back to the form, with what was typed. */
  readonly onBack?: () => void
  readonly onDone?: (answer: Answer<Id>) => void
  /** After an undo; by default the same as `onDone`. */
  readonly onUndone?: (answer: Answer<Id>) => void
}

/** confirmChange opens the dialog of a change. */
export function confirmChange<Id extends OperationId>(change: Change<Id>): void {
  openDialog(<ChangeDialog {...change} />)
}

/**
 * ChangeDialog is the one way to change something: it shows what the server says would happen, asks for the reason, makes the change
 * once however often the button is pressed, and offers to undo it.
 */
function ChangeDialog<Id extends OperationId>(change: Change<Id>) {
  const { title, confirm, about, note, isDanger, isWide, isEffectOnly, isReasonAsked = true, onBack } = change
  const [reason, setReason] = useState(change.reason ?? '')
  const [isAllowed, setAllowed] = useState(false)
  const { shown, problem, isBusy, commit } = useChange(change, reason, isAllowed)
  const lowers = change.isRaise === true ? lowered(shown?.in_force_on ?? []).length : 0
  const footer = (
    <>
      {onBack ? <Button onClick={onBack}>Back</Button> : <Button onClick={closeDialog}>Cancel</Button>}
      <Button
        kind={isDanger ? 'danger' : 'primary'}
        isSubmit
        isDisabled={isBusy || shown === undefined || (lowers > 0 && !isAllowed)}
        why={liveState.value === 'lost' ? 'The server cannot be reached.' : undefined}
      >
        {confirm}
      </Button>
    </>
  )
  return (
    <Dialog title={title} footer={footer} isWide={isWide === true} onSubmit={() => void commit()}>
      {about}
      {shown === undefined && problem === undefined && <Skeleton lines={3} />}
      {shown && <PreviewView preview={isEffectOnly ? { ...shown, changes: [] } : shown} />}
      {lowers > 0 && <LowersToo count={lowers} isAllowed={isAllowed} onAllow={setAllowed} />}
      {note && <Notice>{note}</Notice>}
      {problem && (
        <Notice tone="bad">
          {problem.message} {!problem.message.startsWith(problem.code) && <code>{problem.code}</code>}
        </Notice>
      )}
      {isReasonAsked && (
        <Field label="Reason" hint="For the audit log. Others will read it when they ask why.">
          <input value={reason} maxLength={500} onInput={(event) => setReason(event.currentTarget.value)} />
        </Field>
      )}
    </Dialog>
  )
}

/** useChange reads the preview of a change, again when the server has recovered, and makes the change. */
function useChange<Id extends OperationId>(change: Change<Id>, reason: string, isAllowed: boolean) {
  const { operation, asked, isRaise, reasonField, done, undo, onDone, onUndone = onDone } = change
  const [shown, setShown] = useState<Preview>()
  const [problem, setProblem] = useState<ApiProblem>()
  const [isBusy, setBusy] = useState(false)
  const idempotencyKey = useMemo(() => crypto.randomUUID(), [])
  const { value: recoveries } = recovery
  useEffect(() => {
    setProblem(undefined)
    const tried = isRaise ? withFields(asked, { allow_lower: true }) : asked
    preview(operation, tried).then(setShown, (error) => setProblem(asProblem(error)))
  }, [recoveries])
  const commit = async (): Promise<void> => {
    setBusy(true)
    setProblem(undefined)
    try {
      const fields = {
        ...(reasonField && reason && { [reasonField]: reason }),
        ...(isAllowed && { allow_lower: true }),
      }
      const answer = await ask(operation, { ...withFields(asked, fields), ...(reason && { reason }), idempotencyKey })
      const takeBack = undo && { undo: () => undo(answer).then(() => onUndone?.(answer)) }
      notify(`${done} ${inForceText(answer.body)}`.trim(), { isBad: isUnused(answer.body), ...takeBack })
      closeDialog()
      onDone?.(answer)
    } catch (error) {
      setProblem(asProblem(error))
      setBusy(false)
    }
  }
  return { shown, problem, isBusy, commit }
}

interface LowersProps {
  readonly count: number
  readonly isAllowed: boolean
  readonly onAllow: (isAllowed: boolean) => void
}

/** LowersToo asks whether a raise may lower limits. */
function LowersToo({ count, isAllowed, onAllow }: LowersProps) {
  return (
    <Notice tone="warn">
      {lowersText(count)}
      <label class="row">
        <input type="checkbox" checked={isAllowed} onChange={(event) => onAllow(event.currentTarget.checked)} />
        {count === 1 ? 'Lower it anyway' : 'Lower them anyway'}
      </label>
    </Notice>
  )
}

/** withFields returns a request with more fields in its body, if there are any. */
function withFields<Id extends OperationId>(asked: Asked<Id>, fields: object): Asked<Id> {
  if (Object.keys(fields).length === 0) return asked
  return { ...asked, body: { ...(asked.body as object | undefined), ...fields } } as Asked<Id>
}
