import { signal } from '@preact/signals'
import type { ComponentType } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { follow, liveState, lostAtMs } from '../api/live.ts'
import { clockTime } from '../format/time.ts'
import iconUrl from '../icon.svg'
import { closeDialog, OpenDialog } from '../kit/dialogs.tsx'
import { Toasts } from '../kit/toasts.tsx'
import { here, matchPath, place } from '../state/router.ts'
import { isEnded, logOut, may, session } from '../state/session.ts'
import { nextTheme, theme } from '../state/theme.ts'
import { Button } from '../ui/button.tsx'
import { Icon } from '../ui/icon.tsx'
import { Badge, Notice, Skeleton, State } from '../ui/parts.tsx'
import { areKeysShown, isTyping, Keys } from './keys.tsx'
import { LoginAgain } from './login.tsx'
import { NotLoaded } from './not-loaded.tsx'
import { type Page, type Params, pages } from './pages.ts'
import { isPaletteOpen, Palette } from './palette.tsx'

const isMenuOpen = signal(false)

/** Shell is what stands around every page: the menu, the state of the connection, and who is logged in. */
export function Shell() {
  useEffect(follow, [])
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (isEnded.peek()) return
      if (event.key === 'k' && (event.metaKey || event.ctrlKey)) {
        event.preventDefault()
        isPaletteOpen.value = !isPaletteOpen.value
      }
      if (event.key === '?' && !isTyping(event.target)) areKeysShown.value = true
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])
  return (
    <div class="shell" data-menu={isMenuOpen.value ? 'open' : 'closed'}>
      <a class="button skip" href="#main" data-out>
        Skip to the page
      </a>
      <Sidebar />
      {/* biome-ignore lint/a11y/noStaticElementInteractions: Escape closes the menu, too */}
      <div class="backdrop" onClick={() => leaveMenu()} />
      <div inert={isMenuOpen.value}>
        <Topbar />
        <CurrentPage />
      </div>
      {isPaletteOpen.value && <Palette />}
      {areKeysShown.value && <Keys />}
      <OpenDialog />
      {isEnded.value && <LoginAgain />}
      <Toasts />
    </div>
  )
}

const closeMenu = (): void => {
  if (!isMenuOpen.peek()) return
  isMenuOpen.value = false
}

/** leaveMenu closes it and goes back to its button, which takes no focus as long as the menu is open. */
const leaveMenu = (): void => {
  closeMenu()
  setTimeout(() => document.querySelector<HTMLElement>('.menu-button button')?.focus(), 50)
}

const GROUPS = ['Watch', 'Sell', 'Decide', 'Manage'] as const

function Sidebar() {
  const { path } = place.value
  const box = useRef<HTMLElement>(null)
  const isOpen = isMenuOpen.value
  useEffect(closeMenu, [path])
  useEffect(() => {
    if (isOpen) box.current?.querySelector<HTMLElement>('a')?.focus()
  }, [isOpen])
  return (
    <aside ref={box} class="sidebar" aria-label="Menu" onKeyDown={(event) => event.key === 'Escape' && leaveMenu()}>
      <a class="brand" href="/">
        <img src={iconUrl} alt="" />
        Sluice
      </a>
      <nav aria-label="Pages">
        {GROUPS.map((group) => {
          const inside = pages.filter(({ menu, role = 'viewer' }) => menu?.group === group && may(role))
          if (inside.length === 0) return null
          return (
            <div key={group}>
              <div class="group">{group}</div>
              {inside.map((page) => (
                <a key={page.path} href={page.path} aria-current={isWithin(page, path) ? 'page' : undefined}>
                  <Icon name={page.menu?.icon ?? 'now'} />
                  {page.title}
                </a>
              ))}
            </div>
          )
        })}
      </nav>
      <Who />
    </aside>
  )
}

const isWithin = ({ path }: Page, at: string): boolean => at === path || (path !== '/' && at.startsWith(`${path}/`))

function Who() {
  const { value } = session
  if (value.kind !== 'open') return null
  const { name, role, via } = value.who
  return (
    <div class="foot">
      <span class="clip" title={name}>
        {via === 'loopback' ? 'Not logged in: you may look' : name || 'Without a name'}
      </span>
      <span class="row apart">
        <Badge>{role}</Badge>
        {via === 'session' && (
          <Button kind="quiet" isSmall icon="out" onClick={() => void logOut()}>
            Log out
          </Button>
        )}
        {via === 'loopback' && (
          <a class="button small" href={`/login?back=${encodeURIComponent(here())}`}>
            Log in
          </a>
        )}
      </span>
    </div>
  )
}

function Topbar() {
  return (
    <header class="topbar">
      <span class="menu-button">
        <Button
          kind="quiet"
          icon="menu"
          label="Menu"
          isExpanded={isMenuOpen.value}
          onClick={() => (isMenuOpen.value = !isMenuOpen.value)}
        />
      </span>
      <button type="button" class="button find" onClick={() => (isPaletteOpen.value = true)}>
        <Icon name="search" />
        Find
        <kbd>Ctrl K</kbd>
      </button>
      <span class="space" />
      <Connection />
      <span class="wide-only">
        <Button
          kind="quiet"
          label="Keys"
          title="Keys (?)"
          icon="keyboard"
          onClick={() => (areKeysShown.value = true)}
        />
      </span>
      <Button
        kind="quiet"
        icon={theme.value === 'dark' ? 'moon' : theme.value === 'light' ? 'sun' : 'screen'}
        label={`Theme: ${theme.value}`}
        onClick={nextTheme}
      />
    </header>
  )
}

/** Connection says whether the figures are of now. A screen reader hears when that changes. */
function Connection() {
  const { value } = liveState
  const tone = value === 'live' ? 'good' : value === 'lost' ? 'bad' : 'plain'
  return (
    <span role="status">
      <Badge tone={tone} hasDot>
        {value === 'live' ? 'Live' : value === 'lost' ? 'Offline' : 'Connecting'}
      </Badge>
    </span>
  )
}

interface Loaded {
  readonly page: Page
  readonly Content: ComponentType<{ params: Params }>
}

/** useLoaded loads the code of a page, and names the page in the browser's tab. */
function useLoaded(page: Page | undefined) {
  const [loaded, setLoaded] = useState<Loaded>()
  const [failed, setFailed] = useState(false)
  useEffect(() => {
    document.title = page === undefined ? 'Sluice' : `${page.title} · Sluice`
    if (page === undefined) return
    let isCurrent = true
    setFailed(false)
    page.load().then(
      (Content) => isCurrent && setLoaded({ page, Content }),
      () => isCurrent && setFailed(true),
    )
    return () => {
      isCurrent = false
    }
  }, [page])
  return { loaded, failed }
}

/** CurrentPage loads the page of the address. The one before stays until the next is there. */
function CurrentPage() {
  const { path } = place.value
  const main = useRef<HTMLElement>(null)
  const wanted = pages.flatMap((page) => {
    const params = matchPath(page.path, path)
    return params === undefined ? [] : [{ page, params }]
  })[0]
  const page = wanted?.page
  const { loaded, failed } = useLoaded(page)

  // Another page closes what was open over this one.
  useEffect(closeDialog, [path])

  // A screen reader goes on at the new page, unless the page has put the focus somewhere itself. The first page leaves it alone.
  const shownPath = useRef(path)
  const isThere = loaded?.page === page
  useEffect(() => {
    if (!isThere || shownPath.current === path) return
    shownPath.current = path
    if (document.querySelector('dialog[open]') === null && !main.current?.contains(document.activeElement)) {
      main.current?.focus({ preventScroll: true })
    }
  }, [path, isThere])

  return (
    <main id="main" ref={main} tabIndex={-1} data-stale={liveState.value === 'lost' ? '' : undefined}>
      {lostAtMs.value !== undefined && (
        <Notice tone="bad">
          The server has not answered since {clockTime(lostAtMs.value)}. What is shown is from before, and nothing can
          be changed. The connection is retried automatically.
        </Notice>
      )}
      {wanted === undefined ? (
        <NotFound />
      ) : !may(wanted.page.role ?? 'viewer') ? (
        <NotAllowed page={wanted.page} />
      ) : failed ? (
        <NotLoaded key={path} />
      ) : loaded?.page === wanted.page ? (
        <loaded.Content key={path} params={wanted.params} />
      ) : (
        <Skeleton lines={6} />
      )}
    </main>
  )
}

function NotFound() {
  return (
    <>
      <h1 class="hidden-text">Not found</h1>
      <State icon="search" title="There is no such page">
        <a href="/">See what happens now</a>
      </State>
    </>
  )
}

function NotAllowed({ page: { title, role } }: { readonly page: Page }) {
  const { value } = session
  return (
    <>
      <h1 class="hidden-text">{title}</h1>
      <State icon="blocks" title={`This page needs the role ${role}`}>
        {value.kind === 'open' && `You have the role ${value.who.role}.`} Log in with another token to see it.
      </State>
    </>
  )
}
