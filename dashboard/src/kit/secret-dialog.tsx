import { useRef, useState } from 'preact/hooks'
import { Button } from '../ui/button.tsx'
import { Field } from '../ui/field.tsx'
import { Notice } from '../ui/parts.tsx'
import { Dialog } from './dialog.tsx'
import { closeDialog } from './dialogs.tsx'
import { useUnloadWarning } from './use-unload-warning.ts'

interface SecretProps {
  readonly title: string
  /** What it is, such as Token. */
  readonly label: string
  readonly value: string
  readonly hint: string
}

/** SecretDialog shows a secret that the server shows only once. It warns before it is closed without a copy. */
export function SecretDialog({ title, label, value, hint }: SecretProps) {
  const input = useRef<HTMLDivElement>(null)
  const [isCopied, setCopied] = useState(false)
  const [isWarned, setWarned] = useState(false)
  useUnloadWarning(!isCopied)
  const copy = async (): Promise<void> => setCopied(await copied(value, input.current?.querySelector('input')))
  const leave = (): void => (isCopied || isWarned ? closeDialog() : setWarned(true))
  const isLosing = isWarned && !isCopied
  const footer = (
    <>
      <Button icon={isCopied ? 'check' : 'copy'} onClick={() => void copy()}>
        {isCopied ? 'Copied' : 'Copy'}
      </Button>
      <Button kind={isLosing ? 'danger' : 'primary'} isSubmit>
        {isLosing ? 'Close without a copy' : 'Done'}
      </Button>
    </>
  )
  return (
    <Dialog title={title} isHeld footer={footer} onSubmit={leave}>
      <Notice tone="warn">It is shown only this once, and cannot be read later.</Notice>
      <div ref={input}>
        <Field label={label} hint={hint}>
          <input
            class="mono"
            value={value}
            readOnly
            autofocus
            onFocus={(event: FocusEvent) => (event.currentTarget as HTMLInputElement).select()}
            onCopy={() => setCopied(true)}
          />
        </Field>
      </div>
      {isLosing && <Notice tone="bad">You have not copied it. It cannot be shown again.</Notice>}
    </Dialog>
  )
}

/** copied writes to the clipboard. A page that came over plain HTTP may not; there the older way still works. */
async function copied(text: string, input: HTMLInputElement | null | undefined): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    input?.select()
    return document.execCommand('copy')
  }
}
