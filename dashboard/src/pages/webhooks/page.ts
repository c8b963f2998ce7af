import type { Page } from '../../app/pages.ts'

export const pages: readonly Page[] = [
  {
    path: '/webhooks',
    title: 'Webhooks',
    menu: { group: 'Manage', order: 32, icon: 'webhooks' },
    words: 'events notify thresholds delivery',
    commands: [{ text: 'Create a webhook', href: '/webhooks?new=', role: 'admin', words: 'new notify' }],
    load: () => import('./webhooks.tsx').then((m) => m.Webhooks),
  },
  {
    path: '/webhooks/:id',
    title: 'Webhook',
    load: () => import('./webhook.tsx').then((m) => m.OneWebhook),
  },
]
