import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { Button } from './button.tsx'

interface DialogProps {
  readonly title: string
  readonly children: ComponentChildren
  readonly footer?: ComponentChildren
  readonly isWide?: boolean
  readonly onClose: () => void
  /** With it, the dialog is a form. */
  readonly onSubmit?: () => void
}

/** Dialog is open as long as it is rendered. The browser keeps the keyboard inside, and gives the focus back. */
export function Dialog({ title, children, footer, isWide, onClose, onSubmit }: DialogProps) {
  const box = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const { current } = box
    const before = document.activeElement
    current?.showModal()
    return () => {
      current?.close()
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  const submit = (event: Event): void => {
    event.preventDefault()
    onSubmit?.()
  }
  const cancel = (event: Event): void => {
    event.preventDefault()
    onClose()
  }
  return (
    <dialog ref={box} class={isWide ? 'wide' : undefined} aria-labelledby={id} onCancel={cancel}>
      <form onSubmit={submit} noValidate>
        <header>
          <h2 id={id}>{title}</h2>
          <Button kind="quiet" icon="close" label="Close" isSmall onClick={onClose} />
        </header>
        <div class="inside">{children}</div>
        {footer && <footer>{footer}</footer>}
      </form>
    </dialog>
  )
}
