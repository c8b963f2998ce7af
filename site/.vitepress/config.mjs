import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig } from 'vitepress'
import { slugOf } from '../links.mjs'
import { MENU, MODULES, pageOfModule } from '../pages.mjs'

const site = join(import.meta.dirname, '..')
const { version } = JSON.parse(readFileSync(join(site, '..', 'package.json'), 'utf8'))
const icon = `data:image/svg+xml,${encodeURIComponent(readFileSync(join(site, '../dashboard/src/icon.svg'), 'utf8'))}`

/** titleOf is the first heading of a page. */
function titleOf(page) {
  const [, title = page] = /^# (.*)$/m.exec(readFileSync(join(site, 'content', `${page}.md`), 'utf8')) ?? []
  return title.replaceAll('`', '')
}

const itemOf = (page) => ({ text: titleOf(page), link: `/${page}` })

/** What is below another page in the menu: the middleware of each framework. */
const isBelow = (page) => page.startsWith('middleware/')

function itemsOf(pages) {
  return pages
    .filter((page) => !isBelow(page))
    .map((page) => {
      const below = pages.filter((each) => each.startsWith(`${page}/`))
      return below.length === 0 ? itemOf(page) : { ...itemOf(page), collapsed: true, items: below.map(itemOf) }
    })
}

const sidebar = [
  ...MENU.map(({ text, pages }) => ({ text, items: itemsOf(pages) })),
  {
    text: 'API',
    collapsed: true,
    items: [...MODULES.keys()]
      .filter((module) => existsSync(join(site, 'content', `${pageOfModule(module)}.md`)))
      .map((module) => ({ text: module, link: `/${pageOfModule(module)}` })),
  },
  { text: 'Project', collapsed: true, items: ['changelog', 'contributing', 'security'].map(itemOf) },
]

/** Pages with tables of many columns. */
const WIDE = new Set(['comparison.md', 'performance.md'])

export default defineConfig({
  title: 'Sluice',
  description: 'A rate limiter for APIs: a library, middleware and a service, in memory or on Redis.',
  lang: 'en',
  srcDir: 'content',
  outDir: 'dist',
  cacheDir: '.vitepress/cache',
  cleanUrls: false,
  // Those that lead to the reader's own machine are right; any other that leads nowhere fails the build.
  ignoreDeadLinks: 'localhostLinks',
  head: [
    ['link', { rel: 'icon', href: icon }],
    ['meta', { name: 'theme-color', content: '#2456e6' }],
  ],
  markdown: {
    anchor: { slugify: slugOf },
    languageAlias: { promql: 'txt' },
  },
  // In a document itself, GitHub would show such settings.
  transformPageData: ({ relativePath, frontmatter }) =>
    WIDE.has(relativePath) ? { frontmatter: { ...frontmatter, aside: false, pageClass: 'wide' } } : undefined,
  themeConfig: {
    logo: icon,
    search: { provider: 'local' },
    outline: [2, 3],
    sidebar,
    nav: [
      { text: 'Tutorial', link: '/tutorial' },
      { text: 'Rules', link: '/rules' },
      { text: 'API', link: `/${pageOfModule('sluice')}`, activeMatch: '/api/' },
      { text: version, link: '/changelog' },
    ],
    footer: { message: 'Apache-2.0' },
  },
  vite: { build: { chunkSizeWarningLimit: 2_000, reportCompressedSize: false }, logLevel: 'warn' },
})
