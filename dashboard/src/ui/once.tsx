import { useEffect, useState } from 'preact/hooks'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { Field } from './field.tsx'
import { Notice } from './parts.tsx'

interface OnceProps {
  readonly title: string
  /** What it is, such as Token. */
  readonly label: string
  readonly value: string
  readonly hint: string
  readonly onClose: () => void
}

/** Once shows a secret that the server never tells again. It warns before it is left without a copy. */
export function Once({ title, label, value, hint, onClose }: OnceProps) {
  const [isCopied, setCopied] = useState(false)
  const [isWarned, setWarned] = useState(false)
  useEffect(() => {
    if (isCopied) return
    const warn = (event: BeforeUnloadEvent): void => event.preventDefault()
    addEventListener('beforeunload', warn)
    return () => removeEventListener('beforeunload', warn)
  }, [isCopied])
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(value)
      setCopied(true)
    } catch {
      // Without a secure origin there is no clipboard: it is selected, to be copied by hand.
      document.querySelector<HTMLInputElement>('.once input')?.select()
    }
  }
  const leave = (): void => (isCopied || isWarned ? onClose() : setWarned(true))
  const footer = (
    <>
      <Button icon={isCopied ? 'check' : 'copy'} onClick={() => void copy()}>
        {isCopied ? 'Copied' : 'Copy'}
      </Button>
      <Button kind={isWarned && !isCopied ? 'danger' : 'primary'} isSubmit>
        {isWarned && !isCopied ? 'Close without a copy' : 'Done'}
      </Button>
    </>
  )
  return (
    <Dialog title={title} isHeld footer={footer} onClose={onClose} onSubmit={leave}>
      <Notice tone="warn">It is shown this once. Nobody can read it again, also not the service.</Notice>
      <div class="once">
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
      {isWarned && !isCopied && <Notice tone="bad">You have not copied it. After this it is gone.</Notice>}
    </Dialog>
  )
}
