import { useRef, useState } from 'preact/hooks'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { Notice } from '../../ui/parts.tsx'

/** KeyShown shows a new key, once. It is not left by accident before the key was copied. */
export function KeyShown({ apiKey, onClose }: { readonly apiKey: string; readonly onClose: () => void }) {
  const input = useRef<HTMLInputElement>(null)
  const [isCopied, setCopied] = useState(false)
  const [isAsked, setAsked] = useState(false)
  const copy = async (): Promise<void> => {
    setCopied(await copied(apiKey, input.current))
  }
  const leave = (): void => {
    if (isCopied || isAsked) onClose()
    else setAsked(true)
  }
  const footer = (
    <Button kind={isCopied ? 'primary' : 'plain'} onClick={onClose}>
      {isCopied ? 'Done' : 'I have it'}
    </Button>
  )
  return (
    <Dialog title="The new key" footer={footer} onClose={leave}>
      <Notice tone="warn">It is shown this once. Nobody can read it later: only a hash of it is kept.</Notice>
      <Field label="API key">
        <input
          ref={input}
          autofocus
          class="mono"
          readOnly
          value={apiKey}
          onFocus={(event) => event.currentTarget.select()}
        />
      </Field>
      <div class="row">
        <Button kind={isCopied ? 'plain' : 'primary'} icon={isCopied ? 'check' : 'copy'} onClick={() => void copy()}>
          {isCopied ? 'Copied' : 'Copy key'}
        </Button>
        {isAsked && !isCopied && (
          <span class="small wrong-text" role="alert">
            It was not copied yet. Close again to leave without it.
          </span>
        )}
      </div>
    </Dialog>
  )
}

/** copied writes to the clipboard. Where a page may not do that, because it came over plain HTTP, the old way still works. */
async function copied(text: string, input: HTMLInputElement | null): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    input?.select()
    return document.execCommand('copy')
  }
}
