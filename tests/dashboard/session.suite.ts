import { expect, it } from 'vitest'
import type { Bench } from './bench.suite.ts'
import { TOKENS } from './stand.mjs'

/** All that scripts of the page could read later. */
const KEPT = 'JSON.stringify({ ...localStorage, ...sessionStorage }) + document.cookie'

export function sessionFlows(bench: () => Bench): void {
  it('begins with a token, which is kept nowhere in the browser', () =>
    bench().visit(
      async (visit) => {
        const { page } = visit
        // Without a session, and with a wrong token, the server answers 401: browsers tell that to the console.
        visit.expectComplaints(/status of 401/)
        await page.goto('/customers')
        const token = page.getByLabel('Token')
        await token.fill('sluice_wrong')
        await page.getByRole('button', { name: 'Log in' }).click()
        await page.getByText('This token is not known').waitFor()
        await token.fill(TOKENS.admin)
        await page.getByRole('button', { name: 'Log in' }).click()
        // The page that was asked for is shown after it.
        await page.getByRole('heading', { level: 1, name: 'Customers' }).waitFor()
        const kept = await page.evaluate<string>(KEPT)
        expect(kept).not.toContain(TOKENS.admin)
        const cookies = await visit.context.cookies()
        expect(cookies).toMatchObject([{ httpOnly: true, sameSite: 'Strict' }])
        await page.getByRole('button', { name: 'Log out' }).click()
        await page.getByRole('heading', { name: 'Log in to Sluice' }).waitFor()
      },
      { role: 'nobody' },
    ))

  it('of a viewer changes nothing, and says why', async () => {
    const { id, name } = await bench().customer()
    await bench().visit(
      async (visit) => {
        const { page } = visit
        await visit.go(`/customers/${id}`)
        await page.getByRole('heading', { level: 1, name }).waitFor()
        expect(await page.getByRole('button', { name: /^(Raise|Block|Grant)/ }).count()).toBe(0)
        await page.getByText('log in as operator').waitFor()
        // Behind the page, the server refuses it too.
        visit.expectComplaints(/status of 403/)
        const status = await page.evaluate(async () => {
          const headers = { 'content-type': 'application/json' }
          const init = { method: 'POST', headers, body: '{"cidr": "192.0.2.0/24"}' }
          return (await fetch('/admin/v1/blocks', init)).status
        })
        expect(status).toBe(403)
        expect(await page.getByRole('link', { name: 'Tokens' }).count()).toBe(0)
      },
      { role: 'viewer' },
    )
  })

  it('says that the server is away, and goes on by itself when it is back', () =>
    bench().visit(async (visit) => {
      const { page } = visit
      const [node] = bench().stand.nodes
      await visit.go('/blocks')
      await page.getByText('Live', { exact: true }).waitFor()
      visit.expectComplaints(/ERR_|Failed to load resource|net::/)
      const words = page.getByRole('alert').getByText('The server has not answered since')
      try {
        await node.stop()
        await page.getByText('Offline', { exact: true }).waitFor()
        await words.waitFor()
      } finally {
        await node.start()
        await bench().inForce()
      }
      await page.getByText('Live', { exact: true }).waitFor()
      await words.waitFor({ state: 'detached' })
      // The session is still good.
      await page.getByRole('button', { name: 'Log out' }).waitFor()
    }))

  it('shows a page that was opened while the server was away, when it is back', () =>
    bench().visit(async (visit) => {
      const { page } = visit
      const [node] = bench().stand.nodes
      await visit.go('/blocks')
      await page.getByText('Live', { exact: true }).waitFor()
      visit.expectComplaints(/ERR_|Failed to load resource|net::|Failed to fetch/)
      try {
        await node.stop()
        await page.getByText('Offline', { exact: true }).waitFor()
        // Its code was not loaded before.
        await page.getByRole('link', { name: 'Audit' }).click()
        await page.getByText('This page could not be loaded').waitFor()
      } finally {
        await node.start()
        await bench().inForce()
      }
      await page.getByRole('heading', { name: 'Audit' }).waitFor()
      await page.getByRole('list', { name: 'Changes, the newest first' }).waitFor()
    }))

  it('shows a list that failed while figures came, as soon as it can be read', () =>
    bench().visit(async (visit) => {
      const { page } = visit
      const { id } = await bench().customer()
      await bench().ask('POST', 'blocks', { customer_id: id, reason: 'a test' })
      let isOpen = false
      visit.expectComplaints(/503/)
      await page.route('**/admin/v1/blocks*', (route) =>
        isOpen
          ? route.continue()
          : route.fulfill({ status: 503, json: { code: 'DATABASE_UNAVAILABLE', detail: 'Not yet.' } }),
      )
      await visit.go('/blocks')
      await page.getByRole('alert').getByText('Not yet.').waitFor()
      await page.getByText('Live', { exact: true }).waitFor()
      isOpen = true
      await page.getByText(id, { exact: true }).first().waitFor()
    }))
}
