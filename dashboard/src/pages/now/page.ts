import type { Page } from '../../app/pages.ts'

export const pages: readonly Page[] = [
  {
    path: '/',
    title: 'Now',
    menu: { group: 'Watch', order: 0, icon: 'now' },
    words: 'live overview refused allowed latency top home',
    load: () => import('./now.tsx').then(({ Now }) => Now),
  },
]
