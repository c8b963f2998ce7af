import type { ComponentType } from 'preact'
import type { IconName } from '../ui/icon.tsx'
import type { Role } from './session.ts'

export type Params = Readonly<Record<string, string>>

/** A PageCommand is something that is begun at an address. */
export interface PageCommand {
  readonly text: string
  readonly href: string
  /** The least role that may do it. */
  readonly role: Role
  readonly words?: string
}

/** A Page is one place of the dashboard. Its code is loaded when it is shown. */
export interface Page {
  /** Such as /customers/:id. */
  readonly path: string
  readonly title: string
  /** Where it stands in the menu, from 0; not there: it is reached from another page. */
  readonly menu?: {
    readonly group: 'Watch' | 'Sell' | 'Decide' | 'Manage'
    readonly order: number
    readonly icon: IconName
  }
  /** The least role that sees it. Default: viewer. */
  readonly role?: Role
  /** More words that the palette finds it by. */
  readonly words?: string
  /** What can be begun on it, for the palette. */
  readonly commands?: readonly PageCommand[]
  load(): Promise<ComponentType<{ readonly params: Params }>>
}

/** Every folder of pages/ states its pages in a file page.ts, as `pages`. */
const found = import.meta.glob<{ readonly pages: readonly Page[] }>('../pages/*/page.ts', { eager: true })

export const pages: readonly Page[] = Object.values(found)
  .flatMap((module) => module.pages)
  .sort((a, b) => (a.menu?.order ?? 99) - (b.menu?.order ?? 99))
