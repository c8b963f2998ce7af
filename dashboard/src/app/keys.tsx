import { signal } from '@preact/signals'
import { Fragment } from 'preact'
import { Dialog } from '../kit/dialog.tsx'

export const areKeysShown = signal(false)

const KEYS: readonly (readonly [keys: readonly string[], what: string])[] = [
  [['Ctrl', 'K'], 'Find a page, a customer or a command (⌘ K on a Mac)'],
  [['?'], 'Show these keys'],
  [['Tab'], 'Go to the next link, button or field'],
  [['Enter'], 'Follow a link, press a button, send a form'],
  [['Esc'], 'Close what is open'],
  [['↑', '↓'], 'Choose in a list'],
]

/** isTyping says whether a key belongs to a field. */
export function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]') !== null
}

/** Keys lists what the keyboard does. */
export function Keys() {
  return (
    <Dialog title="Keys" onClose={() => (areKeysShown.value = false)}>
      <dl class="facts keys">
        {KEYS.map(([keys, what]) => (
          <Fragment key={what}>
            <dt class="row">
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </Fragment>
        ))}
      </dl>
      <p class="small soft">
        Every page and every command is in <kbd>Ctrl</kbd> <kbd>K</kbd>: type a part of its name.
      </p>
    </Dialog>
  )
}
