import type { Page } from '../../app/pages.ts'

export const pages: readonly Page[] = [
  {
    path: '/tiers',
    title: 'Tiers',
    menu: { group: 'Sell', order: 11, icon: 'tiers' },
    words: 'plans pro free enterprise',
    commands: [{ text: 'Create a tier', href: '/tiers?new=', role: 'admin', words: 'new plan' }],
    load: () => import('./tiers.tsx').then((m) => m.Tiers),
  },
]
