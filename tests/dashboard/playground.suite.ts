import { expect, it } from 'vitest'
import type { Bench } from './bench.suite.ts'

export function playgroundFlows(bench: () => Bench): void {
  it('shows seven algorithms on one pattern, drawn by pointer and by keyboard, at an address that can be sent', () =>
    bench().visit(async (visit) => {
      const { page } = visit
      await visit.go('/playground')
      const rows = page.getByRole('list', { name: 'Algorithms' }).getByRole('listitem')
      expect(await rows.count()).toBe(7)
      const fixed = rows.filter({ hasText: 'Fixed window' })
      await fixed.getByText('Lets 40 through within 10 s: 2 times the limit.').waitFor()

      await page.getByRole('button', { name: 'Steady' }).click()
      await page.waitForURL(/pattern=steady/)
      await page.getByLabel('Limit').fill('100')
      await fixed.getByText('Admits everything.').waitFor()

      const drawing = page.getByRole('slider', { name: 'Traffic' })
      await drawing.focus()
      for (const key of ['ArrowRight', 'ArrowRight', 'ArrowUp', 'PageUp']) await page.keyboard.press(key)
      expect(await drawing.getAttribute('aria-valuetext')).toBe('1 s: 8 requests')
      await page.waitForURL(/drawn=228/)
      const box = await drawing.boundingBox()
      if (box === null) throw new Error('the drawing is not shown')
      await page.mouse.move(box.x + box.width * 0.5, box.y + 2)
      await page.mouse.down()
      await page.mouse.move(box.x + box.width * 0.6, box.y + 2, { steps: 3 })
      await page.mouse.up()
      await page.waitForURL(/k\*1\d\./)

      const told = await rows.allInnerTexts()
      await page.reload()
      await visit.settled()
      expect(await rows.allInnerTexts()).toEqual(told)
    }))
}
