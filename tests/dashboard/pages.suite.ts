import { expect, it } from 'vitest'
import type { Bench } from './bench.suite.ts'

/** What the menu has at least. All that it has is looked at. */
const MENU = [
  '/',
  '/customers',
  '/rules',
  '/explain',
  '/blocks',
  '/tiers',
  '/audit',
  '/nodes',
  '/tokens',
  '/playground',
]
/** The pages that the menu does not lead to. */
const MORE = ['/rules/edit', '/rules/versions', '/login', '/nowhere']

export function pageClaims(bench: () => Bench): void {
  it('passes axe, light and dark, fits a phone, and complains of nothing', async () => {
    const { id, key } = await bench().customer()
    await bench().checks(key, 70)
    await bench().visit(async (visit) => {
      const { page } = visit
      await visit.go('/')
      const links = await page
        .getByRole('navigation', { name: 'Pages' })
        .getByRole('link')
        .evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''))
      expect(links).toEqual(expect.arrayContaining(MENU))
      const found: string[] = []
      for (const path of [...links, `/customers/${id}`, ...MORE]) {
        await page.setViewportSize({ width: 1440, height: 900 })
        await page.emulateMedia({ colorScheme: 'light' })
        await visit.go(path)
        found.push(...(await visit.axe()).map((line) => `${path}, light: ${line}`))
        await page.emulateMedia({ colorScheme: 'dark' })
        found.push(...(await visit.axe({ isColourOnly: true })).map((line) => `${path}, dark: ${line}`))
        for (const width of [1024, 390]) {
          await page.setViewportSize({ width, height: 844 })
          const sideways = await visit.sideways()
          if (sideways > 0) found.push(`${path}: ${sideways} pixels too wide at ${width}`)
          const broken = await visit.brokenWords()
          found.push(...broken.map((word) => `${path}: ${word} breaks inside at ${width}`))
        }
        found.push(...visit.complaints().map((line) => `${path}: ${line}`))
      }
      expect(found).toEqual([])
    })
  })
}
