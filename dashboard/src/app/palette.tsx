import { signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ask } from '../api/client.ts'
import { giveFocus } from '../kit/dialog.tsx'
import { lastUndo } from '../kit/toasts.tsx'
import { customerHref } from '../state/links.ts'
import { go, here } from '../state/router.ts'
import { logOut, may, session } from '../state/session.ts'
import { nextTheme } from '../state/theme.ts'
import { Icon } from '../ui/icon.tsx'
import { type Command, found } from './commands.ts'
import { areKeysShown } from './keys.tsx'
import { pages } from './pages.ts'

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

function pageActions(): Command[] {
  return pages.flatMap(({ menu, commands: offered = [] }) =>
    offered
      .filter(({ role }) => may(role))
      .map(({ text, href, words = '' }) => ({
        text,
        words,
        icon: menu?.icon ?? 'plus',
        kind: 'command',
        run: () => go(href),
      })),
  )
}

function commands(): Command[] {
  const undo = lastUndo()
  const { value } = session
  const isLoggedIn = value.kind === 'open' && value.who.via === 'session'
  return [
    ...pageCommands(),
    ...(undo ? [{ text: `Undo: ${undo.text}`, icon: 'undo', kind: 'command', run: undo.run } as const] : []),
    ...pageActions(),
    { text: 'Change theme', words: 'dark light system', icon: 'moon', kind: 'command', run: nextTheme },
    {
      text: 'Show keys',
      words: 'keyboard help',
      icon: 'info',
      kind: 'command',
      run: () => (areKeysShown.value = true),
    },
    isLoggedIn
      ? { text: 'Log out', icon: 'out', kind: 'command', run: () => void logOut() }
      : { text: 'Log in', icon: 'out', kind: 'command', run: () => go(`/login?back=${encodeURIComponent(here())}`) },
  ]
}

/** Palette finds pages, commands and customers by the keyboard alone. */
export function Palette() {
  const box = useRef<HTMLDialogElement>(null)
  const [typed, setTyped] = useState('')
  const [at, setAt] = useState(0)
  const customers = useCustomers(typed)
  useEffect(() => setAt(0), [typed])

  useModal(box)
  useEffect(() => {
    document.getElementById(`palette-${at}`)?.scrollIntoView({ block: 'nearest' })
  }, [at])
  const list = [...found(typed, commands()), ...customers].slice(0, MOST_FOUND)
  const close = (): void => {
    isPaletteOpen.value = false
  }
  const run = (command: Command | undefined): void => {
    if (command === undefined) return
    close()
    // After it is closed and the focus is restored: the command may move the focus.
    setTimeout(() => command.run())
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
      <Found list={list} at={at} point={setAt} run={run} />
    </dialog>
  )
}

/** useModal shows the palette over the page, and gives the focus back when it closes. */
function useModal(box: { readonly current: HTMLDialogElement | null }): void {
  useEffect(() => {
    const { current } = box
    const before = document.activeElement
    current?.showModal()
    return () => {
      current?.close()
      if (document.querySelector('dialog[open]') === null) giveFocus(before)
    }
  }, [])
}

/** useCustomers finds customers by what was typed. */
function useCustomers(typed: string): readonly Command[] {
  const [customers, setCustomers] = useState<readonly Command[]>([])
  const search = typed.trim()
  useEffect(() => {
    if (search.length < 2) return setCustomers([])
    const stopper = new AbortController()
    ask('listCustomers', { query: { search, page_size: 6 }, signal: stopper.signal }).then(
      ({ body }) => setCustomers(body.items.map(({ id, name }) => customerCommand(id, name))),
      // Without a database there are no customers; pages are found all the same.
      () => {},
    )
    return () => stopper.abort()
  }, [search])
  return customers
}

interface FoundProps {
  readonly list: readonly Command[]
  readonly at: number
  readonly point: (at: number) => void
  readonly run: (command: Command) => void
}

function Found({ list, at, point, run }: FoundProps) {
  return (
    <>
      <ul id="palette-list" role="listbox" aria-label="Found">
        {list.map((command, i) => (
          <li
            key={`${command.kind} ${command.text}`}
            id={`palette-${i}`}
            role="option"
            aria-selected={i === at}
            onMouseMove={() => point(i)}
            onClick={() => run(command)}
          >
            <Icon name={command.icon} />
            <span class="clip">{command.text}</span>
            <span class="kind">{command.kind}</span>
          </li>
        ))}
      </ul>
      {list.length === 0 && (
        <p class="none" role="status">
          Nothing has these words.
        </p>
      )}
    </>
  )
}

function customerCommand(id: string, name: string): Command {
  const text = name === '' || name === id ? id : `${name} (${id})`
  return { text, icon: 'customers', kind: 'customer', run: () => go(customerHref(id)) }
}
