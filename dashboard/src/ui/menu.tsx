import { useEffect, useRef, useState } from 'preact/hooks'
import { Icon, type IconName } from './icon.tsx'
import './menu.css'

/** As wide as a list is, or a little more, in pixels. */
const LIST_WIDTH = 240

/** A MenuItem is one thing that can be done. */
export interface MenuItem {
  readonly text: string
  readonly icon: IconName
  readonly isDanger?: boolean
  readonly run: () => void
}

/** Menu is a button that opens a list of things to do. Arrow keys go through them, Escape closes it. */
export function Menu({ label, items }: { readonly label: string; readonly items: readonly MenuItem[] }) {
  const [isOpen, setOpen] = useState(false)
  const [isAtLeft, setAtLeft] = useState(false)
  const box = useRef<HTMLDivElement>(null)
  const opener = useRef<HTMLButtonElement>(null)
  const buttons = (): HTMLButtonElement[] => [...(box.current?.querySelectorAll<HTMLButtonElement>('ul button') ?? [])]

  useEffect(() => {
    if (!isOpen) return
    // On a phone the button may stand at the left: then the list opens to the right.
    setAtLeft((opener.current?.getBoundingClientRect().right ?? LIST_WIDTH) < LIST_WIDTH)
    buttons()[0]?.focus()
    const away = (event: Event): void => {
      if (!box.current?.contains(event.target as Node)) setOpen(false)
    }
    document.addEventListener('pointerdown', away)
    return () => document.removeEventListener('pointerdown', away)
  }, [isOpen])

  const close = (): void => {
    setOpen(false)
    opener.current?.focus()
  }
  const press = (event: KeyboardEvent): void => {
    if (!isOpen) return
    if (event.key === 'Tab') setOpen(false)
    const list = buttons()
    const at = list.indexOf(document.activeElement as HTMLButtonElement)
    const next = indexAfter(event.key, at, list.length)
    if (event.key === 'Escape') close()
    else if (next === undefined) return
    else list[next]?.focus()
    event.preventDefault()
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: keys pressed on the buttons inside
    <div class="menu" ref={box} onKeyDown={press}>
      <button
        ref={opener}
        type="button"
        class="button"
        aria-haspopup="menu"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        {label}
        <Icon name="more" />
      </button>
      {isOpen && (
        <ul role="menu" aria-label={label} class={isAtLeft ? 'at-left' : undefined}>
          {items.map((item) => (
            <Item key={item.text} item={item} close={close} />
          ))}
        </ul>
      )}
    </div>
  )
}

function Item({ item: { text, icon, isDanger, run }, close }: { readonly item: MenuItem; readonly close: () => void }) {
  // A dialog gives the focus back to where it was: to the button of the menu, which stays.
  const choose = (): void => {
    close()
    run()
  }
  return (
    <li role="none">
      <button type="button" role="menuitem" tabIndex={-1} class={isDanger ? 'bad' : undefined} onClick={choose}>
        <Icon name={icon} />
        {text}
      </button>
    </li>
  )
}

function indexAfter(key: string, at: number, count: number): number | undefined {
  if (key === 'ArrowDown') return (at + 1) % count
  if (key === 'ArrowUp') return (at - 1 + count) % count
  if (key === 'Home') return 0
  if (key === 'End') return count - 1
  return undefined
}
