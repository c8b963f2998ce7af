import { signal } from '@preact/signals'

/** place is the address of the page: its path and what is asked in it. */
export const place = signal(read())

export interface Place {
  readonly path: string
  readonly query: URLSearchParams
  /** What stands after #, without it. */
  readonly hash: string
}

function read(): Place {
  return { path: location.pathname, query: new URLSearchParams(location.search), hash: location.hash.slice(1) }
}

/** go shows another page. With `replace`, going back leads past this one. */
export function go(address: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, '', address)
  else history.pushState(null, '', address)
  const before = place.value.path
  place.value = read()
  if (place.value.path !== before) scrollTo(0, 0)
}

/** setQuery changes what the address asks, so that a filtered page can be shared. */
export function setQuery(changes: Readonly<Record<string, string | undefined>>): void {
  const query = new URLSearchParams(location.search)
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') query.delete(name)
    else query.set(name, value)
  }
  const search = query.toString()
  go(search === '' ? location.pathname : `${location.pathname}?${search}`, { replace: true })
}

/** What the server answers at the same address, and is no page. */
const NO_PAGES = /^\/(?:admin|metrics|stats|rlconfig)(?:\/|$)/

/** followLinks turns clicks on links within the dashboard into changes of the place. */
export function followLinks(): void {
  addEventListener('popstate', () => {
    place.value = read()
  })
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0) return
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    const link = (event.target as Element).closest('a')
    if (link === null || link.origin !== location.origin || link.target !== '' || link.hasAttribute('download')) return
    if (link.dataset.out !== undefined || NO_PAGES.test(link.pathname)) return
    event.preventDefault()
    go(link.pathname + link.search + link.hash)
  })
}

/** matchPath returns the parameters of a path of a form such as /customers/:id, or undefined. */
export function matchPath(form: string, path: string): Readonly<Record<string, string>> | undefined {
  const wanted = form.split('/')
  const given = path.replace(/(.)\/$/, '$1').split('/')
  if (wanted.length !== given.length) return undefined
  const params: Record<string, string> = {}
  for (const [i, part] of wanted.entries()) {
    if (!part.startsWith(':')) {
      if (part !== given[i]) return undefined
      continue
    }
    try {
      params[part.slice(1)] = decodeURIComponent(given[i])
    } catch {
      return undefined
    }
  }
  return params
}

/** here is the address of this page, to come back to. */
export const here = (): string => location.pathname + location.search + location.hash

/** safeAddress returns an address within the dashboard; anything else leads to the first page. */
export function safeAddress(given: string | null): string {
  return given !== null && /^\/(?![/\\])/.test(given) && !given.startsWith('/login') ? given : '/'
}
