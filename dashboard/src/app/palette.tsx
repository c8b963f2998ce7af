import { signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ask } from '../api/client.ts'
import { Icon, type IconName } from '../ui/icon.tsx'
import { pages } from './pages.ts'
import { go } from './router.ts'
import { logOut, may } from './session.ts'
import { nextTheme } from './theme.ts'

/** A Command is something that the palette finds by its words. */
export interface Command {
  readonly text: string
  readonly words?: string
  readonly icon: IconName
  readonly kind: string
  run(): void
}

export const isPaletteOpen = signal(false)

const MOST_FOUND = 12

function pageCommands(): Command[] {
  return pages
    .filter(({ menu, role = 'viewer' }) => menu !== undefined && may(role))
    .map(({ path, title, words = '', menu }) => ({
      text: title,
      words,
      icon: menu?.icon ?? 'now',
      kind: 'page',
      run: () => go(path),
    }))
}

function commands(): Command[] {
  return [
    ...pageCommands(),
    { text: 'Change theme', words: 'dark light system', icon: 'moon', kind: 'command', run: nextTheme },
    { text: 'Log out', icon: 'out', kind: 'command', run: () => void logOut() },
  ]
}

/** found says which commands have all the words that were typed. */
export function found(typed: string, all: readonly Command[]): Command[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean)
  return all.filter(({ text, words: more = '' }) => {
    const whole = `${text} ${more}`.toLowerCase()
    return words.every((word) => whole.includes(word))
  })
}

/** Palette finds pages, commands and customers by the keyboard alone. */
export function Palette() {
  const box = useRef<HTMLDialogElement>(null)
  const [typed, setTyped] = useState('')
  const [at, setAt] = useState(0)
  const [customers, setCustomers] = useState<readonly Command[]>([])

  useEffect(() => box.current?.showModal(), [])
  useEffect(() => {
    setAt(0)
    const search = typed.trim()
    if (search.length < 2) return setCustomers([])
    const stopper = new AbortController()
    const query = { search, page_size: 6 }
    ask('listCustomers', { query, signal: stopper.signal }).then(
      ({ body }) => setCustomers(body.items.map(({ id, name }) => customerCommand(id, name))),
      // Without a database there are no customers; pages are found all the same.
      () => {},
    )
    return () => stopper.abort()
  }, [typed])

  const list = [...found(typed, commands()), ...customers].slice(0, MOST_FOUND)
  const close = (): void => {
    isPaletteOpen.value = false
  }
  const run = (command: Command | undefined): void => {
    close()
    command?.run()
  }
  const press = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step !== 0) {
      event.preventDefault()
      setAt((at + step + list.length) % Math.max(1, list.length))
    }
    if (event.key === 'Enter') {
      event.preventDefault()
      run(list[at])
    }
  }
  return (
    <dialog
      ref={box}
      class="palette"
      aria-label="Go to a page, a customer or a command"
      onClose={close}
      onClick={(event) => event.target === box.current && close()}
    >
      <input
        class="input"
        autofocus
        role="combobox"
        aria-label="Search"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={list.length > 0 ? `palette-${at}` : undefined}
        placeholder="Pages, customers, commands"
        value={typed}
        onInput={(event) => setTyped(event.currentTarget.value)}
        onKeyDown={press}
      />
      <ul id="palette-list" role="listbox" aria-label="Found">
        {list.map((command, i) => (
          <li
            key={`${command.kind} ${command.text}`}
            id={`palette-${i}`}
            role="option"
            aria-selected={i === at}
            onClick={() => run(command)}
          >
            <Icon name={command.icon} />
            <span class="clip">{command.text}</span>
            <span class="kind">{command.kind}</span>
          </li>
        ))}
      </ul>
    </dialog>
  )
}

function customerCommand(id: string, name: string): Command {
  const text = name === '' || name === id ? id : `${name} (${id})`
  return { text, icon: 'customers', kind: 'customer', run: () => go(`/customers/${encodeURIComponent(id)}`) }
}
