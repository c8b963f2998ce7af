import { expect, it } from 'vitest'
import { until } from '../servers/until.mjs'
import type { Bench } from './bench.suite.ts'

export function explainFlows(bench: () => Bench): void {
  it('says which rule refuses a request, by how much, and what would admit it', async () => {
    const { key } = await bench().customer({ tier: null })
    expect(await bench().checks(key, 31)).toBe(`${'+'.repeat(30)}-`)
    await bench().visit(async (visit) => {
      const { page } = visit
      await visit.go('/explain')
      await page.getByLabel('Domain').selectOption('parcels')
      await page.getByLabel('Key 1').fill('api_key')
      await page.getByLabel('Value 1').fill(key)
      await page.getByRole('button', { name: 'Explain' }).click()
      const rule = page.getByRole('region', { name: 'Rule requests' })
      await rule.getByText('30').first().waitFor()
      await page
        .getByText(/Wait|wait/)
        .first()
        .waitFor()
      // The key is a secret: it is not part of an address that people send to each other.
      expect(page.url()).not.toContain(key)
    })
  })

  it('says why a request gets a 402: which meter, what is left, and what would help', async () => {
    const { ask } = bench()
    const { id } = await bench().customer({ tier: null })
    await ask('PUT', 'meters/pages', { allowance: 2 }, { 'if-match': '*' })
    const descriptor = { print: 'invoice', customer: id }
    const paid = async () => (await bench().stand.decide('billing', descriptor, 2)).status
    await until('the customer is in force', async () => (await paid()) === 200)
    expect(await paid()).toBe(402)
    await bench().visit(async (visit) => {
      const { page } = visit
      await visit.go('/explain')
      await page.getByLabel('Domain').selectOption('billing')
      await page.getByLabel('Key 1').fill('print')
      await page.getByLabel('Value 1').fill('invoice')
      await page.getByRole('button', { name: 'Add an entry' }).click()
      await page.getByLabel('Key 2').fill('customer')
      await page.getByLabel('Value 2').fill(id)
      await page.getByRole('button', { name: 'Explain' }).click()
      await page.getByRole('heading', { name: 'Refused with 402: meter pages has too little left' }).waitFor()
      const meter = page.getByRole('region', { name: 'Meter pages' })
      await meter.getByText('Issue credits or a grant').waitFor()
      await meter.getByText('this is what binds').waitFor()
    })
  })

  it('keeps an API key out of the address and the history, though no rule calls it secret, and has it again after another page', async () => {
    await bench().visit(async (visit) => {
      const { page } = visit
      const key = `pk_test_${crypto.randomUUID()}`
      await visit.go('/explain')
      await page.getByLabel('Domain').selectOption('edge')
      await page.getByLabel('Key 1').fill('api_key')
      await page.getByLabel('Value 1').fill(key)
      await page.getByRole('button', { name: 'Explain' }).click()
      await page.getByText('No rule').first().waitFor()
      await page.waitForURL(/q=/)
      expect(decodeURIComponent(page.url())).toContain('"api_key"')
      expect(page.url()).not.toContain(key)
      const kept = await page.evaluate<string>(
        'JSON.stringify([history.state, { ...localStorage }, { ...sessionStorage }])',
      )
      expect(kept).not.toContain(key)
      await page.getByRole('link', { name: 'Blocks' }).click()
      await page.getByRole('heading', { name: 'Blocks' }).waitFor()
      await page.goBack()
      expect(await page.getByLabel('Value 1').inputValue()).toBe(key)
    })
  })

  it('waits for the domains, and turns no field into another while somebody uses it', async () => {
    await bench().visit(async (visit) => {
      const { page } = visit
      let answer = (): void => {}
      const isAsked = new Promise<void>((resolve) => {
        answer = resolve
      })
      let goOn = (): void => {}
      const isSeen = new Promise<void>((resolve) => {
        goOn = resolve
      })
      await page.route(/\/admin\/v1\/rules(\?|$)/, async (route) => {
        answer()
        await isSeen
        await route.continue()
      })
      await visit.go('/explain')
      await isAsked
      const domain = page.getByLabel('Domain')
      expect([await domain.evaluate(({ tagName }) => tagName), await domain.isDisabled()]).toEqual(['SELECT', true])
      goOn()
      await domain.selectOption('parcels')
    })
  })

  it('takes a request as it was found in a log', async () => {
    await bench().visit(async (visit) => {
      const { page } = visit
      await visit.go('/explain')
      await page.getByRole('button', { name: 'Paste it' }).click()
      const request = { domain: 'edge', descriptors: [{ entries: [{ key: 'ip', value: '198.51.100.20' }] }] }
      await page.getByLabel('Request').fill(JSON.stringify(request))
      await page.getByRole('button', { name: 'Explain' }).click()
      await page.getByRole('region', { name: 'Rule office' }).waitFor()
    })
  })
}
