import type { Page } from '../../app/pages.ts'

export const pages: readonly Page[] = [
  {
    path: '/explain',
    title: 'Explain',
    menu: { group: 'Decide', order: 21, icon: 'explain' },
    words: 'why refused request descriptors counter match',
    load: () => import('./explain.tsx').then((m) => m.Explain),
  },
]
