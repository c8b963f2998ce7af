import type { Page } from '../../app/pages.ts'

export const pages: readonly Page[] = [
  {
    path: '/tokens',
    title: 'Tokens',
    menu: { group: 'Manage', order: 31, icon: 'tokens' },
    role: 'admin',
    words: 'access login api roles revoke',
    commands: [{ text: 'Create a token', href: '/tokens?new=', role: 'admin', words: 'new access' }],
    load: () => import('./tokens.tsx').then((m) => m.Tokens),
  },
]
