import type { Page } from '../../app/pages.ts'

export const pages: readonly Page[] = [
  {
    path: '/audit',
    title: 'Audit',
    menu: { group: 'Manage', order: 30, icon: 'audit' },
    words: 'log history changes who export',
    commands: [{ text: 'Verify the audit log', href: '/audit?verify=1', role: 'viewer', words: 'chain check tamper' }],
    load: () => import('./audit.tsx').then((m) => m.Audit),
  },
]
