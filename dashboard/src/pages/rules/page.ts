import type { Page } from '../../app/pages.ts'

export const pages: readonly Page[] = [
  {
    path: '/rules',
    title: 'Rules',
    menu: { group: 'Decide', order: 20, icon: 'rules' },
    words: 'limits shadow enforce off switch incident domains',
    load: () => import('./rules.tsx').then((m) => m.Rules),
  },
  {
    path: '/rules/edit',
    title: 'Edit rules',
    words: 'yaml text check',
    load: () => import('./edit-rules.tsx').then((m) => m.EditRules),
  },
  {
    path: '/rules/versions',
    title: 'Versions of the rules',
    words: 'rollback history',
    load: () => import('./versions.tsx').then((m) => m.Versions),
  },
  {
    path: '/rules/versions/:version',
    title: 'A version of the rules',
    load: () => import('./version.tsx').then((m) => m.Version),
  },
]
