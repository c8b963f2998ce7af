import type { Page } from '../../app/pages.ts'

export const pages: readonly Page[] = [
  {
    path: '/nodes',
    title: 'Nodes',
    menu: { group: 'Watch', order: 1, icon: 'nodes' },
    words: 'workers processes store circuit version memory',
    load: () => import('./nodes.tsx').then(({ Nodes }) => Nodes),
  },
]
