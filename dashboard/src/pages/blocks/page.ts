import type { Page } from '../../app/pages.ts'

export const pages: readonly Page[] = [
  {
    path: '/blocks',
    title: 'Blocks',
    menu: { group: 'Sell', order: 12, icon: 'blocks' },
    words: 'ban deny abuse address cidr',
    commands: [{ text: 'Block a caller', href: '/blocks?new=', role: 'operator', words: 'ban customer key address' }],
    load: () => import('./blocks.tsx').then((m) => m.Blocks),
  },
]
