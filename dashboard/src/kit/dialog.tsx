import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { Button } from '../ui/button.tsx'
import { closeDialog } from './dialogs.tsx'

interface DialogProps {
  readonly title: string
  readonly children: ComponentChildren
  readonly footer?: ComponentChildren
  readonly isWide?: boolean
  /** Only its buttons close it: a key must not lose what it shows. */
  readonly isHeld?: boolean
  readonly onClose?: () => void
  /** With it, the dialog is a form. */
  readonly onSubmit?: () => void
}

/** Dialog is open as long as it is rendered. The browser keeps the keyboard inside; the focus goes back to where it was. */
export function Dialog(props: DialogProps) {
  const { title, children, footer, isWide, isHeld = false, onClose = closeDialog, onSubmit } = props
  const box = useRef<HTMLDialogElement>(null)
  const isShown = useRef(true)
  const id = useId()
  useEffect(() => {
    const { current } = box
    const before = document.activeElement
    isShown.current = true
    current?.showModal()
    // The browser would begin with the button that closes it.
    current?.querySelector<HTMLElement>('[autofocus], .inside :is(input, select, textarea):not([readonly])')?.focus()
    return () => {
      isShown.current = false
      current?.close()
      giveFocus(before)
    }
  }, [])
  const submit = (event: Event): void => {
    event.preventDefault()
    onSubmit?.()
  }
  const cancel = (event: Event): void => {
    event.preventDefault()
    if (!isHeld) onClose()
  }
  // A browser closes it on a second Escape, whatever the first was answered.
  const closed = (): void => {
    if (!isShown.current) return
    if (isHeld) box.current?.showModal()
    else onClose()
  }
  return (
    <dialog ref={box} class={isWide ? 'wide' : undefined} aria-labelledby={id} onCancel={cancel} onClose={closed}>
      <form onSubmit={submit} noValidate>
        <header>
          <h2 id={id}>{title}</h2>
          {!isHeld && <Button kind="quiet" icon="close" label="Close" isSmall onClick={onClose} />}
        </header>
        <div class="inside">{children}</div>
        {footer && <footer>{footer}</footer>}
      </form>
    </dialog>
  )
}

interface FormDialogProps extends Omit<DialogProps, 'footer' | 'isHeld' | 'onClose'> {
  /** The text of the button that goes on. */
  readonly submit?: string
  readonly isDisabled?: boolean
}

/** FormDialog is a form that leads to the preview of a change. */
export function FormDialog({ submit = 'Preview', isDisabled, ...dialog }: FormDialogProps) {
  const footer = (
    <>
      <Button onClick={closeDialog}>Cancel</Button>
      <Button kind="primary" isSubmit isDisabled={isDisabled}>
        {submit}
      </Button>
    </>
  )
  return <Dialog {...dialog} footer={footer} />
}

/** giveFocus returns the focus to what had it, or to the page when that is gone. */
export function giveFocus(to: Element | null): void {
  const target =
    to instanceof HTMLElement && to.isConnected && to !== document.body ? to : document.getElementById('main')
  target?.focus({ preventScroll: true })
}
