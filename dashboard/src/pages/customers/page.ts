import type { Page } from '../../app/pages.ts'

export const pages: readonly Page[] = [
  {
    path: '/customers',
    title: 'Customers',
    menu: { group: 'Sell', order: 10, icon: 'customers' },
    words: 'keys limits quota raise grant block',
    load: () => import('./list/customers-page.tsx').then(({ CustomersPage }) => CustomersPage),
  },
  {
    path: '/customers/:id',
    title: 'Customer',
    load: () => import('./customer-page.tsx').then(({ CustomerPage }) => CustomerPage),
  },
]
