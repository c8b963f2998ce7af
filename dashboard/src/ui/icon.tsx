/** The drawings of the dashboard, on a grid of 24, in lines. */
const PATHS = {
  now: 'M3 12h4l3-8 4 16 3-8h4',
  customers:
    'M16 20v-1a4 4 0 0 0-4-4H7a4 4 0 0 0-4 4v1M9.5 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7M21 20v-1a4 4 0 0 0-3-3.9M15.5 4.2a3.5 3.5 0 0 1 0 6.6',
  rules: 'M6 4v10M6 18v2M12 4v2M12 10v10M18 4v8M18 16v4M4 16h4M10 8h4M16 14h4',
  explain: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18M9.5 9.5a2.5 2.5 0 1 1 3.4 2.3c-.6.3-.9.8-.9 1.5M12 16.5v.1',
  blocks: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18M5.6 5.6l12.8 12.8',
  tiers: 'M12 3 3 8l9 5 9-5-9-5M3 12.5l9 5 9-5M3 17l9 5 9-5',
  audit: 'M6 3h9l4 4v14H6zM9 9h6M9 13h6M9 17h4',
  nodes: 'M4 4h16v6H4zM4 14h16v6H4zM8 7v.1M8 17v.1',
  tokens: 'M15 9a1 1 0 1 0 0-.1M14 3a7 7 0 0 0-6.7 9L3 16.3V21h4.7v-2.5H10V16h2l.6-.7A7 7 0 1 0 14 3',
  webhooks: 'M10 14a4 4 0 0 0 6 .5l3-3a4 4 0 0 0-6-6l-1.5 1.5M14 10a4 4 0 0 0-6-.5l-3 3a4 4 0 0 0 6 6l1.5-1.5',
  playground: 'M9 3h6M10 3v6l-5.5 9A2 2 0 0 0 6.2 21h11.6a2 2 0 0 0 1.7-3L14 9V3M7.5 15h9',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14M20 20l-4-4',
  menu: 'M4 6h16M4 12h16M4 18h16',
  close: 'M6 6l12 12M18 6 6 18',
  sun: 'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8M12 2v2M12 20v2M4.9 4.9l1.4 1.4M17.7 17.7l1.4 1.4M2 12h2M20 12h2M4.9 19.1l1.4-1.4M17.7 6.3l1.4-1.4',
  moon: 'M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5',
  screen: 'M3 4h18v12H3zM9 20h6M12 16v4',
  out: 'M10 4H5v16h5M14 8l4 4-4 4M18 12H9',
  alert: 'M12 9v4M12 17v.1M10.3 4 2.6 17.5A2 2 0 0 0 4.3 20.5h15.4a2 2 0 0 0 1.7-3L13.7 4a2 2 0 0 0-3.4 0',
  info: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18M12 11v5M12 8v.1',
  check: 'M5 12.5 10 17 19 7',
  plus: 'M12 5v14M5 12h14',
  back: 'M15 5l-7 7 7 7',
  more: 'M5 12v.1M12 12v.1M19 12v.1',
  reset: 'M4 4v6h6M4.5 10A8 8 0 1 1 4 14',
  gift: 'M4 10h16v4H4zM6 14v7h12v-7M12 10v11M12 10c-2-5-7-4-5-1 .8 1 3 1 5 1M12 10c2-5 7-4 5-1-.8 1-3 1-5 1',
  up: 'M12 20V5M6 11l6-6 6 6',
  download: 'M12 4v11M7 11l5 5 5-5M5 20h14',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  edit: 'M4 20h4L19 9l-4-4L4 16zM13 7l4 4',
  undo: 'M4 9h11a5 5 0 0 1 0 10h-4M4 9l4-4M4 9l4 4',
  eye: 'M2 12s4-7 10-7 10 7 10 7-4 7-10 7-10-7-10-7M12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6',
  wifi: 'M2 8.5a15 15 0 0 1 20 0M5.5 12.5a10 10 0 0 1 13 0M9 16.3a5 5 0 0 1 6 0M12 20v.1',
  keyboard: 'M3 6h18v12H3zM7 10v.1M11 10v.1M15 10v.1M18 10v.1M8 14h8',
  trash: 'M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13',
} as const

export type IconName = keyof typeof PATHS

/** Icon is drawn next to words: screen readers skip it. */
export function Icon({ name, size = 16 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg
      aria-hidden="true"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-width="1.8"
      stroke-linecap="round"
      stroke-linejoin="round"
    >
      <path d={PATHS[name]} />
    </svg>
  )
}
