import { signal } from '@preact/signals'
import { Button } from '../ui/button.tsx'

interface Toast {
  readonly id: number
  readonly text: string
  readonly isBad: boolean
  /** Takes back what was done. */
  readonly undo: (() => Promise<void>) | undefined
}

const SHOWN_MS = 8_000
/** What can be taken back stays longer. */
const UNDO_MS = 20_000

const toasts = signal<readonly Toast[]>([])
const timers = new Map<number, ReturnType<typeof setTimeout>>()
let lastId = 0

/** notify shows a short message; with `undo`, a button that takes the change back. */
export function notify(
  text: string,
  { isBad = false, undo }: { isBad?: boolean; undo?: () => Promise<void> } = {},
): void {
  const id = ++lastId
  toasts.value = [...toasts.value.slice(-3), { id, text, isBad, undo }]
  startTimer(toasts.value.at(-1))
}

function startTimer(toast: Toast | undefined): void {
  if (toast === undefined) return
  clearTimeout(timers.get(toast.id))
  timers.set(
    toast.id,
    setTimeout(() => forget(toast.id), toast.undo === undefined ? SHOWN_MS : UNDO_MS),
  )
}

/** While one is pointed at, or has the focus, none goes away. */
const hold = (): void => {
  for (const timer of timers.values()) clearTimeout(timer)
}
const release = (): void => {
  for (const toast of toasts.value) startTimer(toast)
}

const forget = (id: number): void => {
  clearTimeout(timers.get(id))
  timers.delete(id)
  toasts.value = toasts.value.filter((each) => each.id !== id)
}

function takeBack({ id, undo }: Toast): void {
  forget(id)
  undo?.().then(
    () => notify('Undone.'),
    (error: unknown) => notify(`It could not be undone: ${messageOf(error)}`, { isBad: true }),
  )
}

/** lastUndo is the last change that can still be taken back, for the palette. */
export function lastUndo(): { readonly text: string; run(): void } | undefined {
  const toast = toasts.value.findLast(({ undo }) => undo !== undefined)
  return toast && { text: toast.text, run: () => takeBack(toast) }
}

export function Toasts() {
  return (
    <section
      class="toasts"
      aria-label="Messages"
      onMouseEnter={hold}
      onMouseLeave={release}
      onFocusIn={hold}
      onFocusOut={release}
    >
      <div role="status" class="stack close">
        {toasts.value
          .filter(({ isBad }) => !isBad)
          .map((each) => (
            <ToastView key={each.id} toast={each} />
          ))}
      </div>
      <div role="alert" class="stack close">
        {toasts.value
          .filter(({ isBad }) => isBad)
          .map((each) => (
            <ToastView key={each.id} toast={each} />
          ))}
      </div>
    </section>
  )
}

function ToastView({ toast }: { readonly toast: Toast }) {
  return (
    <div class={toast.isBad ? 'toast bad' : 'toast'}>
      <span class="break">{toast.text}</span>
      <span class="row">
        {toast.undo && (
          <Button isSmall icon="undo" onClick={() => takeBack(toast)}>
            Undo
          </Button>
        )}
        <Button isSmall kind="quiet" icon="close" label="Dismiss" onClick={() => forget(toast.id)} />
      </span>
    </div>
  )
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
