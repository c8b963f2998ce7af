import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { type Answer, type Asked, ask, type OperationId, preview } from '../api/client.ts'
import { comeback } from '../api/comeback.ts'
import { liveState } from '../api/live.ts'
import type { Preview } from '../api/operations.ts'
import { ApiProblem } from '../api/problem.ts'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { Field } from './field.tsx'
import { inForceSaid, isUnused, lowered } from './in-force-words.ts'
import { Notice, Skeleton } from './parts.tsx'
import { PreviewView } from './preview-view.tsx'
import { tell } from './toasts.tsx'

interface ChangeProps<Id extends OperationId> {
  readonly title: string
  readonly operation: Id
  readonly asked: Asked<Id>
  /** False: the form has asked why already. */
  readonly isReasonAsked?: boolean
  /** What stands above the preview. */
  readonly about?: ComponentChildren
  /** The word on the button that does it. */
  readonly confirm: string
  readonly isDanger?: boolean
  /** What has to be known before: such as that it cannot be undone. */
  readonly note?: ComponentChildren
  /** The record keeps the reason, too: its operation has a field for it. */
  readonly isReasonKept?: boolean
  /** It is meant as a raise: what it lowers has to be allowed first. */
  readonly isRaise?: boolean
  /** What is said when it is done. */
  readonly said: string
  /** How it is taken back. Not there: it cannot be. */
  readonly undo?: (answer: Answer<Id>) => Promise<void>
  /** What is shown of the preview, where its fields before and after say too little. */
  readonly show?: (preview: Preview) => ComponentChildren
  readonly isWide?: boolean
  /** Where the reason is said, if the change keeps it itself. */
  readonly withReason?: (asked: Asked<Id>, reason: string) => Asked<Id>
  /** Back to a form, with what was typed. */
  readonly onBack?: () => void
  readonly onClose: () => void
  readonly onDone: (answer: Answer<Id>) => void
}

/**
 * ChangeDialog is the one way that something is changed: it shows what the server says would come of it, asks why, does it once
 * however often the button is pressed, and offers to take it back.
 */
export function ChangeDialog<Id extends OperationId>(props: ChangeProps<Id>) {
  const {
    title,
    operation,
    asked,
    isReasonAsked = true,
    about,
    confirm,
    isDanger = false,
    note,
    isReasonKept,
    isRaise = false,
    said,
    undo,
    onBack,
    onClose,
    onDone,
  } = props
  const { show, isWide = false, withReason } = props
  const [shown, setShown] = useState<Preview>()
  const [problem, setProblem] = useState<ApiProblem>()
  const [reason, setReason] = useState('')
  const [isBusy, setBusy] = useState(false)
  const [isAllowed, setAllowed] = useState(false)
  const idempotencyKey = useMemo(() => crypto.randomUUID(), [])

  const { value: times } = comeback
  const isLost = liveState.value === 'lost'

  useEffect(() => {
    setProblem(undefined)
    preview(operation, isRaise ? withFields(asked, { allow_lower: true }) : asked).then(setShown, (error) =>
      setProblem(asProblem(error)),
    )
  }, [operation, asked, times])

  const reasoned = (why: string): Asked<Id> => {
    if (why === '') return asked
    return withReason === undefined ? { ...asked, reason: why } : withReason(asked, why)
  }
  const commit = async (): Promise<void> => {
    setBusy(true)
    setProblem(undefined)
    try {
      const more = { ...(isReasonKept && reason && { reason }), ...(isAllowed && { allow_lower: true }) }
      const answer = await ask(operation, { ...withFields(reasoned(reason), more), idempotencyKey })
      const takeBack = undo && { undo: () => undo(answer).then(() => onDone(answer)) }
      tell(`${said} ${inForceSaid(answer.body)}`.trim(), { isBad: isUnused(answer.body), ...takeBack })
      onDone(answer)
      onClose()
    } catch (error) {
      setProblem(asProblem(error))
      setBusy(false)
    }
  }
  const isLowering = isRaise && lowered(shown?.in_force_on ?? []).length > 0
  const footer = (
    <>
      {onBack ? <Button onClick={onBack}>Back</Button> : <Button onClick={onClose}>Cancel</Button>}
      <Button
        kind={isDanger ? 'danger' : 'primary'}
        isSubmit
        isDisabled={isBusy || shown === undefined || (isLowering && !isAllowed)}
        why={isLost ? 'The server cannot be reached.' : undefined}
      >
        {confirm}
      </Button>
    </>
  )
  return (
    <Dialog title={title} footer={footer} isWide={isWide} onClose={onClose} onSubmit={() => void commit()}>
      {about}
      {shown === undefined && problem === undefined && <Skeleton lines={3} />}
      {shown && (show === undefined ? <PreviewView preview={shown} /> : show(shown))}
      {isLowering && <LowersToo isAllowed={isAllowed} onAllow={setAllowed} />}
      {note && <Notice>{note}</Notice>}
      {problem && (
        <Notice tone="bad">
          {problem.message} {problem.code && <code>{problem.code}</code>}
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

/** LowersToo asks whether a raise may lower limits. */
function LowersToo({ isAllowed, onAllow }: { isAllowed: boolean; onAllow: (isAllowed: boolean) => void }) {
  return (
    <Notice tone="warn">
      This raise makes limits lower: fewer requests over time than now. Go back to raise one limit alone, or in another
      unit.
      <label class="row">
        <input type="checkbox" checked={isAllowed} onChange={(event) => onAllow(event.currentTarget.checked)} />
        Lower them all the same
      </label>
    </Notice>
  )
}

/** withFields is a request with more fields in its body, if there are any. */
function withFields<Id extends OperationId>(asked: Asked<Id>, fields: object): Asked<Id> {
  if (Object.keys(fields).length === 0) return asked
  return { ...asked, body: { ...(asked.body as object | undefined), ...fields } } as Asked<Id>
}

function asProblem(error: unknown): ApiProblem {
  return error instanceof ApiProblem ? error : new ApiProblem(0, '', String(error))
}
