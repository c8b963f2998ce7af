import type { Page } from '../../app/pages.ts'

export const pages: readonly Page[] = [
  {
    path: '/playground',
    title: 'Playground',
    menu: { group: 'Decide', order: 22, icon: 'playground' },
    words: 'algorithms compare simulate traffic pattern burst fixed window sliding token bucket leaky gcra concurrency',
    load: () => import('./playground.tsx').then(({ Playground }) => Playground),
  },
]
