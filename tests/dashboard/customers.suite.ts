import type { Locator } from 'playwright-core'
import { expect, it } from 'vitest'
import { until } from '../servers/until.mjs'
import type { Bench } from './bench.suite.ts'

/** Chooses the limit of the parcels API in a dialog: there are others, of other domains. */
async function chooseParcels(dialog: Locator): Promise<void> {
  const limits = dialog.getByLabel('Limit', { exact: true })
  const option = limits.locator('option', { hasText: 'parcels/api_key' }).first()
  await limits.selectOption(await option.getAttribute('value'))
}

export function customerFlows(bench: () => Bench): void {
  it('whose limit is raised is admitted again, and knows who raised it; undo takes it back', async () => {
    const { id, name, key } = await bench().customer()
    expect(await bench().checks(key, 61)).toBe(`${'+'.repeat(60)}-`)
    await bench().visit(async (visit) => {
      const { page } = visit
      await visit.go(`/customers/${id}`)
      await page.getByRole('heading', { level: 1, name }).waitFor()
      await page.getByRole('button', { name: 'Raise a limit' }).click()
      const dialog = page.getByRole('dialog')
      await chooseParcels(dialog)
      await dialog.getByRole('textbox', { name: 'New limit' }).fill('600')
      await dialog.getByRole('button', { name: 'Preview' }).click()
      // What the server says would come of it, and why it is done.
      await dialog.getByText('600').first().waitFor()
      await dialog.getByLabel('Reason').fill('a call from the customer')
      expect(await bench().checks(key)).toBe('-')
      await dialog.getByRole('button', { name: 'Raise', exact: true }).click()
      await dialog.waitFor({ state: 'detached' })
      await until('the customer is admitted', async () => (await bench().checks(key)) === '+')
      await page.getByText('a call from the customer').first().waitFor()
      await page.getByRole('status').getByRole('button', { name: 'Undo' }).click()
      await until('the customer is refused again', async () => (await bench().checks(key)) === '-')
    })
  })

  it('whose raise would lower a limit is told so, and asked', async () => {
    const { id, name } = await bench().customer()
    await bench().visit(async (visit) => {
      const { page } = visit
      await visit.go(`/customers/${id}`)
      await page.getByRole('heading', { level: 1, name }).waitFor()
      await page.getByRole('button', { name: 'Raise a limit' }).click()
      const dialog = page.getByRole('dialog')
      await chooseParcels(dialog)
      await dialog.getByRole('textbox', { name: 'New limit' }).fill('100')
      await dialog.getByLabel('Per').selectOption('month')
      await dialog.getByRole('button', { name: 'Preview' }).click()
      const rules = dialog.getByRole('region', { name: 'Rules that it is in force on' })
      await rules.getByRole('row', { name: 'parcels/requests api_key 60 per day 100 per month lower' }).waitFor()
      const raise = dialog.getByRole('button', { name: 'Raise', exact: true })
      expect(await raise.isDisabled()).toBe(true)
      await dialog.getByLabel('Lower it anyway').check()
      expect(await visit.axe()).toEqual([])
      await raise.click()
      await dialog.waitFor({ state: 'detached' })
      await page.getByText('In force on parcels/requests (api_key).').waitFor()
      await page.getByRole('region', { name: 'Overrides' }).getByText('parcels/api_key').waitFor()
    })
  })

  it('is found by name, blocked, and unblocked', async () => {
    const { id, key } = await bench().customer({ name: 'Zanzibar Spices' })
    await bench().visit(async (visit) => {
      const { page } = visit
      await visit.go('/customers')
      await page.getByLabel('Search customers').fill('Zanzibar')
      await page
        .getByRole('link', { name: /Zanzibar Spices/ })
        .first()
        .click()
      await page.getByRole('heading', { level: 1, name: 'Zanzibar Spices' }).waitFor()
      await page.getByRole('button', { name: 'Block', exact: true }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('button', { name: 'Preview' }).click()
      await dialog.getByLabel('Reason').fill('stolen key')
      await dialog.getByRole('button', { name: 'Block', exact: true }).click()
      await dialog.waitFor({ state: 'detached' })
      await until('it is blocked', async () => (await bench().checks(key)) === 'B')
      await page.getByRole('alert').getByText('stolen key').waitFor()

      await visit.go('/blocks')
      await page.getByRole('button', { name: `Unblock: ${id}` }).click()
      await dialog.getByRole('button', { name: 'Unblock', exact: true }).click()
      await dialog.waitFor({ state: 'detached' })
      await until('it is admitted', async () => (await bench().checks(key)) === '+')
    })
  })

  it('is shown as text, whatever it is called', async () => {
    const names = [
      '<img src=x onerror="document.title=`broken`">',
      '\u202Egnp.elif\u202C \u200Fשלום\u200E',
      `"><script>alert(1)</script>${'N'.repeat(160)}`,
    ]
    const ids: string[] = []
    for (const name of names) ids.push((await bench().customer({ name, metadata: { note: names[0] } })).id)
    const [evil] = names
    const hostile = `${'k'.repeat(4096 - evil.length)}${evil}`
    await bench().stand.check('edge', { login: hostile })
    for (let i = 0; i < 1_210; i += 605) await bench().stand.check('edge', { ip: evil }, 605)
    await bench().stand.check('edge', { ip: evil }, 605)
    await bench().visit(async (visit) => {
      const { page } = visit
      for (const [i, id] of ids.entries()) {
        await visit.go(`/customers/${id}`)
        expect(await page.locator('h1').innerText()).toBe(names[i])
      }
      await visit.go('/customers')
      await page.getByText(evil).first().waitFor()
      await visit.go('/')
      // A key spells `=` in its values otherwise.
      await page.getByText('ip=<img src').first().waitFor()
      await visit.go(`/explain?q=${encodeURIComponent(`domain=edge ip=${hostile}`)}`)
      await visit.go('/audit')
      expect(await page.locator('main img, main script').count()).toBe(0)
      expect(await page.title()).not.toContain('broken')
      expect(await visit.sideways()).toBeLessThanOrEqual(0)
    })
  })

  it('whose budget below its entry is used up is shown the limit that refuses, and those that no request has met', async () => {
    const { id } = await bench().customer()
    const month = (value: string) => bench().stand.check('billing', { customer: id, month: value })
    for (const status of [200, 200, 200, 429]) expect(await month('2026-11')).toBe(status)
    await bench().visit(async (visit) => {
      const { page } = visit
      await visit.go(`/customers/${id}`)
      const limits = page.getByRole('region', { name: 'The customer as a whole' })
      const used = limits.getByRole('listitem').filter({ hasText: 'month:2026-11' })
      await used.getByText('Exhausted').waitFor()
      await used.getByText('3 of 3').waitFor()
      await limits.getByRole('listitem').filter({ hasText: 'month: any value' }).getByText('3 a day').waitFor()
    })
  })

  it('is read with one request, the overrides of its keys included', async () => {
    const { id } = await bench().customer()
    const { items } = await bench().ask('GET', `customers/${id}/keys`)
    const override = { api_key_id: items[0].id, requests_per_unit: 77, unit: 'hour' }
    await bench().ask('POST', `customers/${id}/overrides`, override)
    await bench().visit(async (visit) => {
      const { page } = visit
      const asked = new Set<string>()
      page.on('request', (request) => {
        const { pathname } = new URL(request.url())
        if (pathname.startsWith('/admin/v1/') && !/\/(session|live)/.test(pathname)) asked.add(pathname)
      })
      await visit.go(`/customers/${id}`)
      const own = page.getByRole('region', { name: 'Overrides' })
      expect(await own.getByText('77 an hour').count()).toBe(1)
      expect([...asked]).toEqual([`/admin/v1/customers/${id}`])
    })
  })

  it('whose calendar a rule follows begins its year at midnight where it is, and says so', async () => {
    const { id } = await bench().customer({ time_zone: 'America/Los_Angeles' })
    expect(await bench().stand.check('billing', { customer: id })).toBe(200)
    const { limits } = await bench().ask('GET', `customers/${id}/limits`)
    const calls = limits.find(({ rule_name }: { rule_name: string }) => rule_name === 'calls')
    expect(calls).toMatchObject({ time_zone: 'America/Los_Angeles', used: 1, rule_id: 'customer' })
    const there = { timeZone: 'America/Los_Angeles', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const
    expect(new Intl.DateTimeFormat('en', there).format(Date.parse(calls.resets_at))).toBe('00:00')
    await bench().visit(async (visit) => {
      const { page } = visit
      await visit.go(`/customers/${id}`)
      const limit = page.getByRole('listitem').filter({ hasText: '9 a year' })
      await limit.getByText('days of America/Los_Angeles').waitFor()
      const title = await limit.locator('time').first().getAttribute('title')
      expect(title).toMatch(/^[^·]*00:00.*(GMT-8|PST)/)
    })
  })
}
