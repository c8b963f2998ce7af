import { expect, it } from 'vitest'
import { until } from '../servers/until.mjs'
import type { Bench } from './bench.suite.ts'

export function liveFlows(bench: () => Bench): void {
  it('move under load: what is allowed, what is refused, and who it is', async () => {
    const { id, key } = await bench().customer()
    await bench().visit(async (visit) => {
      const { page } = visit
      await visit.go('/')
      await page.getByText('Live', { exact: true }).waitFor()
      const rate = async (label: string): Promise<number> => {
        const text = await page.locator('.figure', { hasText: label }).first().locator('.value').innerText()
        return Number.parseFloat(text) || 0
      }
      // 60 a minute are allowed; the rest is refused.
      expect(await bench().checks(key, 80)).toMatch(/^\++-+$/)
      await until('both figures have moved', async () => (await rate('Allowed')) > 0 && (await rate('Refused')) > 0)
      await until('the customer is told of', async () => (await page.getByText(id).count()) > 0)
      // After a reload the last hour is still there.
      await page.reload()
      await visit.settled()
      await until('the refused ones are still told of', async () => (await page.getByText(id).count()) > 0)
    })
  })

  it('show when a limit resets that is nearly used up, wherever that is a date', async () => {
    const seat = crypto.randomUUID().slice(0, 8)
    expect(await bench().stand.check('billing', { seat })).toBe(200)
    for (const width of [1280, 390]) {
      await bench().visit(
        async (visit) => {
          const { page } = visit
          await visit.go('/')
          const row = page
            .getByRole('region', { name: 'Callers above 80 %' })
            .getByRole('row')
            .filter({ hasText: seat })
          // A date, and as wide as its column: nothing of it is cut off.
          const [shown, room] = await row
            .locator('td')
            .last()
            .evaluate((cell) => [cell.scrollWidth, cell.clientWidth])
          expect(await row.locator('time').innerText()).toMatch(/\d{4}/)
          expect(shown).toBeLessThanOrEqual(room)
        },
        { width },
      )
    }
  })
}
