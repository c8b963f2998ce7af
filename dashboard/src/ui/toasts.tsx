import { signal } from '@preact/signals'
import { Button } from './button.tsx'

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
let lastId = 0

/** tell shows a short message; with `undo`, a button that takes the change back. */
export function tell(
  text: string,
  { isBad = false, undo }: { isBad?: boolean; undo?: () => Promise<void> } = {},
): void {
  const id = ++lastId
  toasts.value = [...toasts.value.slice(-3), { id, text, isBad, undo }]
  setTimeout(() => forget(id), undo === undefined ? SHOWN_MS : UNDO_MS)
}

const forget = (id: number): void => {
  toasts.value = toasts.value.filter((each) => each.id !== id)
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, text, isBad, undo }) => (
        <div key={id} class={isBad ? 'toast bad' : 'toast'}>
          <span class="break">{text}</span>
          <span class="row">
            {undo && (
              <Button
                isSmall
                icon="undo"
                onClick={() => {
                  forget(id)
                  undo().then(
                    () => tell('Undone.'),
                    (error: unknown) => tell(`It could not be undone: ${messageOf(error)}`, { isBad: true }),
                  )
                }}
              >
                Undo
              </Button>
            )}
            <Button isSmall kind="quiet" icon="close" label="Dismiss" onClick={() => forget(id)} />
          </span>
        </div>
      ))}
    </div>
  )
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
