import { computed, signal } from '@preact/signals'
import { type ComponentChildren, Fragment } from 'preact'

// One dialog is open over the page, or none. A change goes from a form to its preview, and perhaps to a secret: each takes the place of
// the one before.

let count = 0
const open = signal<{ readonly key: number; readonly content: ComponentChildren } | undefined>(undefined)

/** isDialogOpen is true while a dialog is open: pages hold what could change under it. */
export const isDialogOpen = computed(() => open.value !== undefined)

export function openDialog(content: ComponentChildren): void {
  open.value = { key: ++count, content }
}

export function closeDialog(): void {
  open.value = undefined
}

/** OpenDialog renders the dialog that is open. */
export function OpenDialog() {
  return open.value && <Fragment key={open.value.key}>{open.value.content}</Fragment>
}
